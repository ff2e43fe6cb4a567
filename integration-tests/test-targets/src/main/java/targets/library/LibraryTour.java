package targets.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Visits many corners of java.base and prints what it sees: lines {@code topic: text}, the same in every run on one JDK.
 * With the argument {@code link} it also has the JVM link, and so verify, every class of the module.
 */
public final class LibraryTour {

    private LibraryTour() {}

    /** One part of the library. */
    interface Topic {
        Object visit() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        CollectionTopics.visitAll();
        TextTopics.visitAll();
        ConcurrencyTopics.visitAll();
        FileTopics.visitAll();
        ReflectionTopics.visitAll();
        CallerTopics.visitAll();
        modernTopics().ifPresent(LibraryTour::run);
        if (List.of(arguments).contains("link")) {
            ModuleLinking.linkJavaBase().forEach(System.out::println);
        }
    }

    /** Prints what a visit gives, an exception included. */
    static void show(String name, Topic topic) {
        Object seen;
        try {
            seen = topic.visit();
        } catch (Exception | LinkageError thrown) {
            seen = "thrown " + chain(thrown);
        }
        System.out.println(name + ": " + seen);
    }

    private static List<String> chain(Throwable thrown) {
        List<String> causes = new ArrayList<>();
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            causes.add(cause.toString());
        }
        return causes;
    }

    /** Compiled for a later JVM than the rest. */
    private static Optional<Runnable> modernTopics() throws ReflectiveOperationException {
        if (Runtime.version().feature() < 17) {
            return Optional.empty();
        }
        return Optional.of((Runnable) Class.forName("targets.library.ModernTopics").getDeclaredConstructor().newInstance());
    }

    private static void run(Runnable topics) {
        topics.run();
    }
}
