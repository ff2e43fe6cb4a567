package io.instr.jvmtests.jvm;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;

/** A test that runs once on each JDK under test, and leaves no process behind. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedTest(name = "{displayName} on {0}", allowZeroInvocations = true)
@ArgumentsSource(EachJdk.Jdks.class)
@ExtendWith(RunDirectories.class)
public @interface EachJdk {

    /** The first feature version that has what the test needs. */
    int from() default 11;

    /** A program of the JDK that the test needs and that a plain run-time image may lack. */
    String having() default "java";

    /** Reads the annotation. */
    final class Jdks implements ArgumentsProvider, AnnotationConsumer<EachJdk> {

        private EachJdk wanted;

        @Override
        public void accept(EachJdk annotation) {
            wanted = annotation;
        }

        @Override
        public Stream<Arguments> provideArguments(ExtensionContext context) {
            return Jdk.underTest().stream()
                    .filter(jdk -> jdk.feature() >= wanted.from() && jdk.has(wanted.having()))
                    .map(Arguments::of);
        }
    }
}
