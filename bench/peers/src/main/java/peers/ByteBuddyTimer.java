package peers;

import java.lang.instrument.Instrumentation;
import java.util.concurrent.atomic.LongAdder;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;

/** {@code -javaagent:byte-buddy-timer.jar=CLASS.METHOD}: two clock readings and two adders around a method, as one would do it with Byte Buddy. */
public final class ByteBuddyTimer {

    public static final LongAdder CALLS = new LongAdder();
    public static final LongAdder NANOS = new LongAdder();

    private ByteBuddyTimer() {}

    public static void premain(String target, Instrumentation instrumentation) {
        int dot = target.lastIndexOf('.');
        String method = target.substring(dot + 1);
        new AgentBuilder.Default()
                .type(ElementMatchers.named(target.substring(0, dot)))
                .transform((builder, type, loader, module, domain) ->
                        builder.visit(Advice.to(Timing.class).on(ElementMatchers.named(method))))
                .installOn(instrumentation);
    }

    /** What goes around the method. */
    public static final class Timing {

        private Timing() {}

        @Advice.OnMethodEnter
        static long enter() {
            return System.nanoTime();
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Enter long start) {
            NANOS.add(System.nanoTime() - start);
            CALLS.increment();
        }
    }
}
