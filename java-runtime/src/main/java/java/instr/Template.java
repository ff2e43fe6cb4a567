package java.instr;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method as a template: its body is merged into the methods that a rule selects. The method is static, takes
 * nothing, returns nothing and calls {@link java.instr.Target#proceed()} exactly once, where the selected method's own
 * code is put.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.CLASS)
public @interface Template {
    /** The name that rules use; the method's own name if empty. */
    String name() default "";

    /** What kind of code the template is for: {@code catch-all}, {@code database}, {@code web-service}, {@code socket} or a word of your own. */
    String category() default "catch-all";

    /** The level that this variant is for; a template may have a variant for each level. */
    Level level() default Level.TIME;

    /**
     * A variant for all levels, for {@code [control] live} and the governor: it hands its number to something like {@link Live}, which
     * asks for the present level.
     */
    boolean live() default false;

    /**
     * Types outside {@code java.*} that the template names, e.g. {@code jakarta.servlet.http.HttpServletRequest}. They are
     * looked up by the class loader of the selected method, so select only methods whose loader sees them.
     */
    String[] requires() default {};
}
