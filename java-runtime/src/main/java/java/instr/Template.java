package java.instr;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method as a template: its body is merged into the methods that a rule selects. The method is static, has no parameters,
 * returns nothing and calls {@link java.instr.Target#proceed()} exactly once, at the place of the selected method's own code.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.CLASS)
public @interface Template {
    /**
     * Returns the name that rules use.
     *
     * @return the name; empty for the name of the method
     */
    String name() default "";

    /**
     * Returns the kind of code that the template is for: {@code catch-all}, {@code database}, {@code web-service}, {@code socket} or a
     * word of your own. A category refines another one whose name it continues after a slash: {@code database/oracle} belongs to
     * {@code database}, too.
     *
     * @return the category
     */
    String category() default "catch-all";

    /**
     * Returns the level that this variant is for. Methods with the same name and different levels are variants of one template.
     *
     * @return the level
     */
    Level level() default Level.TIME;

    /**
     * Returns whether this variant is for all levels, which {@code [control] live} and the governor need: it passes its number to
     * {@link Live}, which reads the present level at each call.
     *
     * @return true for a live variant
     */
    boolean live() default false;

    /**
     * Returns the types outside {@code java.*} that the template names, e.g. {@code jakarta.servlet.http.HttpServletRequest}. They are
     * looked up by the class loader of the selected method, so select only methods whose loader sees them.
     *
     * @return binary names of types
     */
    String[] requires() default {};
}
