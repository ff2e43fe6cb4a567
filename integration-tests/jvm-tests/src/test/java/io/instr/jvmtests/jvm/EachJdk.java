package io.instr.jvmtests.jvm;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * A test that runs once on each JDK under test, or on two of them if its result does not depend on the JVM's version, and whose
 * processes have ended when it ends.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedTest(name = "{displayName} on {0}")
@ArgumentsSource(EachJdk.Jdks.class)
@ExtendWith({EachJdk.Available.class, RunDirectories.class})
public @interface EachJdk {

    /** The first feature version that has what the test needs. */
    int from() default 11;

    /** A program of the JDK that the test needs and that a plain run-time image may lack. */
    String having() default "java";

    /**
     * Two JDKs are enough: what is tested is done by the agent alone (files, network, configuration, budgets), or another test runs
     * the same kind of instrumented code on each.
     */
    boolean oldestAndNewest() default false;

    /** Reports a test as skipped, with the reason, if no JDK under test has what it needs. */
    final class Available implements ExecutionCondition {

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return AnnotationSupport.findAnnotation(context.getElement(), EachJdk.class)
                    .filter(wanted -> Jdk.underTest().stream().noneMatch(jdk -> Jdks.fits(wanted, jdk)))
                    .map(wanted -> ConditionEvaluationResult.disabled(
                            "no JDK under test is " + wanted.from() + " or later and has " + wanted.having()))
                    .orElse(ConditionEvaluationResult.enabled("a JDK under test has what it needs"));
        }
    }

    /** Reads the annotation. */
    final class Jdks implements ArgumentsProvider, AnnotationConsumer<EachJdk> {

        private EachJdk wanted;

        @Override
        public void accept(EachJdk annotation) {
            wanted = annotation;
        }

        @Override
        public Stream<Arguments> provideArguments(ExtensionContext context) {
            List<Jdk> fitting = Jdk.underTest().stream().filter(jdk -> fits(wanted, jdk)).toList();
            return fitting.stream().filter(jdk -> !wanted.oldestAndNewest() || isAtAnEnd(fitting, jdk)).map(Arguments::of);
        }

        private static boolean isAtAnEnd(List<Jdk> jdks, Jdk jdk) {
            IntSummaryStatistics features = jdks.stream().mapToInt(Jdk::feature).summaryStatistics();
            return jdk.feature() == features.getMin() || jdk.feature() == features.getMax();
        }

        /** Returns whether a JDK has what the test needs. */
        static boolean fits(EachJdk wanted, Jdk jdk) {
            return jdk.feature() >= wanted.from() && jdk.has(wanted.having());
        }
    }
}
