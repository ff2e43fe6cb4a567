import java.io.IOException;
import java.io.Serializable;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/** One class that makes javac write every attribute it can write, and most instruction forms. */
@Note(
        number = 7,
        text = "text",
        type = void.class,
        kind = RetentionPolicy.CLASS,
        inner = @Hidden(2),
        many = {@Hidden(3), @Hidden},
        letters = {'a', 'b'},
        large = 1L << 40,
        ratio = 0.5f,
        precise = 0.25)
@Deprecated
public abstract class Everything<@Mark T extends @Mark Comparable<@Mark T> & Serializable>
        extends @Mark Object implements @Mark Cloneable {

    static final int INT = 42;
    static final long LONG = 1L << 33;
    static final float FLOAT = 1.5f;
    static final double DOUBLE = 2.5;
    static final String STRING = "a \0 and a \uD83D";
    @Deprecated @Hidden @Mark Map<@Mark ? extends @Mark String, @Mark T @Mark []> field;

    sealed interface Shape permits Point, Circle {}

    record Point(@Mark int x, @Note @HiddenMark List<@Mark String> names, @Deprecated long y) implements Shape {}

    record Circle(double radius) implements Shape {}

    enum Color { RED, GREEN { @Override int light() { return 2; } }; int light() { return 1; } }

    abstract <@Mark U extends @Mark Number> @Mark U declared(
            @Mark Everything<T> this, @Mark @Mark U first, @HiddenMark String second, int third)
            throws @Mark IOException;

    static synchronized int switches(int number, String text, Object shape) throws IOException {
        int result = switch (number) {
            case 1, 2, 3 -> 10;
            case 4 -> number++;
            default -> -1;
        };
        result += switch (text) { case "one" -> 1; case "two" -> 100_000; default -> number; };
        result += switch (shape) {
            case Point(int x, List<String> names, long y) when y > x -> names.size();
            case Circle circle -> (int) circle.radius();
            case Color color -> color.ordinal();
            default -> 0;
        };
        return result;
    }

    long locals(int[] numbers, double scale) {
        long sum = 0;
        for (@Mark int number : numbers) {
            @Mark List<@Mark Integer> list = new @Mark ArrayList<@Mark Integer>();
            list.add((@Mark Integer) number);
            sum += list.size() << 2 | (number > 3 ? 1 : 0);
            if (shapeOf(sum) instanceof @Mark Circle circle && circle.radius() > scale) {
                sum++;
            }
        }
        synchronized (this) {
            sum += LONG;
        }
        return sum;
    }

    static Object shapeOf(long size) {
        Supplier<List<String>> lambda = () -> new ArrayList<>();
        Function<Integer, @Mark Object[]> reference = @Mark Object[]::new;
        Object anonymous = new Object() {
            @Override
            public String toString() {
                return lambda.get() + "/" + reference.apply(1).length + size;
            }
        };
        class Local {
            final Object[][][] cube = new Object[1][2][];
        }
        return size > 5 ? anonymous : new Local().cube;
    }

    int guarded(String path) {
        int attempts = 0;
        try (@Mark AutoCloseable resource = () -> {}) {
            attempts += path.length();
        } catch (@Mark IllegalStateException | @Mark NullPointerException problem) {
            attempts = 1000;
        } catch (Exception problem) {
            attempts -= 200;
        } finally {
            attempts++;
        }
        assert attempts > 0;
        return attempts;
    }
}

@Retention(RetentionPolicy.RUNTIME)
@interface Note {
    int number() default 1;
    String text() default "";
    Class<?> type() default String.class;
    RetentionPolicy kind() default RetentionPolicy.RUNTIME;
    Hidden inner() default @Hidden;
    Hidden[] many() default {};
    char[] letters() default {};
    long large() default 0;
    float ratio() default 0;
    double precise() default 0;
    boolean flag() default true;
    byte small() default 1;
    short medium() default 2;
}

@Retention(RetentionPolicy.CLASS)
@interface Hidden {
    int value() default 1;
}

@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER, ElementType.PARAMETER})
@Repeatable(Marks.class)
@interface Mark {}

@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER, ElementType.PARAMETER})
@interface Marks {
    Mark[] value();
}

@Retention(RetentionPolicy.CLASS)
@Target({ElementType.TYPE_USE, ElementType.PARAMETER})
@interface HiddenMark {}
