package targets;

import java.util.Arrays;
import java.util.concurrent.Callable;
import probe.Log;

/** Calls the methods of {@link Behaviour}, prints what they did, and then what the templates noted. */
final class Run {
    private Run() {}

    private static void show(String what, Callable<?> call) {
        String text;
        try {
            Object value = call.call();
            text = value instanceof int[] ? Arrays.toString((int[]) value) : String.valueOf(value);
        } catch (Throwable thrown) {
            text = "threw " + thrown;
        }
        System.out.println("result " + what + " = " + text + " " + Behaviour.TRAIL);
        Behaviour.TRAIL.clear();
        System.out.println("events " + what + ": " + Log.drain());
    }

    public static void main(String[] arguments) {
        show("default", () -> new Behaviour().describe());
        show("name", () -> new Behaviour(" x ").describe());
        show("null", () -> new Behaviour(null).describe());
        show("throws", () -> new Behaviour("big", 999).describe());
        show("child", () -> new Behaviour.Child(3).describe());
        show("chain", () -> new Behaviour.Child("9").describe());
        show("before super", () -> new Behaviour.Child("no number").describe());
        show("area", () -> new Behaviour().area(2.5, 3));
        show("label", () -> new Behaviour().label("in "));
        show("booleans", () -> Behaviour.booleans(true, (byte) 1, 'y', (short) 3));
        show("bytes", () -> Behaviour.bytes(100));
        show("chars", () -> Behaviour.chars(2));
        show("shorts", () -> Behaviour.shorts(9));
        show("floats", () -> Behaviour.floats(1));
        show("longs", () -> Behaviour.longs(1, 2, 40));
        show("arrays", () -> Behaviour.arrays(1, 2, 3));
        show("nothing", () -> {
            Behaviour.nothing();
            return "done";
        });
        for (int key : new int[] {0, 1, 2, 3, 4, 5, 1_000_000}) {
            show("words " + key, () -> Behaviour.words(key));
        }
        show("strings", () -> Behaviour.strings("Aa") + Behaviour.strings("BB") + Behaviour.strings("C"));
        show("finals", () -> Behaviour.finals(2));
        show("caught", () -> Behaviour.caught(2));
        show("guarded", () -> new Behaviour().guarded(5));
        show("guarded throws", () -> new Behaviour().guarded(-5));
        show("spin", () -> Behaviour.spin(4));
        show("forever", () -> Behaviour.forever(3));
        show("largest", () -> Behaviour.largest(Arrays.asList(3, 9, 4)));
        show("many", () -> Behaviour.many(1, 2, 3, 4, "5", new int[6], '7', true, '9'));
        show("assertions", () -> Behaviour.assertions(3));
    }
}
