package instr.templates;

import java.instr.Conditions;
import java.instr.Contexts;
import java.instr.Target;
import java.instr.Template;

/**
 * Marks calls of a method for which the condition of a context holds. Where the condition cannot be evaluated, for instance because there is no
 * memory to box the arguments, it does not hold.
 */
final class ConditionalAnchor {
    private ConditionalAnchor() {}

    /** In a method of a context. */
    @Template(name = "conditional-anchor", category = "context-condition")
    static void anchor() throws Throwable {
        boolean holds = false;
        if (Contexts.isOutermostNext(Target.id())) {
            try {
                holds = Conditions.hold(Target.id(), Target.self(), Target.args());
            } catch (Throwable unknown) {
                // See above.
            }
        }
        long before = holds ? Contexts.anchor(Target.id()) : 0L;
        try {
            Target.proceed();
        } finally {
            Contexts.leave(before);
        }
    }

    /** In a constructor of a context: there is no object before the constructor of the super class has returned. */
    @Template(name = "conditional-constructor-anchor", category = "context-condition")
    static void constructorAnchor() throws Throwable {
        boolean holds = false;
        if (Contexts.isOutermostNext(Target.id())) {
            try {
                holds = Conditions.hold(Target.id(), null, Target.args());
            } catch (Throwable unknown) {
                // See above.
            }
        }
        long before = holds ? Contexts.anchor(Target.id()) : 0L;
        try {
            Target.proceed();
        } finally {
            Contexts.leave(before);
        }
    }

    /** In a method whose own calls are recorded if the condition holds: not those within another call for which it holds. */
    @Template(name = "own-anchor", category = "own-condition")
    static void ownAnchor() throws Throwable {
        long before = 0L;
        if (Contexts.isNext(Target.id())) {
            boolean holds = false;
            try {
                holds = Conditions.hold(Target.id(), Target.self(), Target.args());
            } catch (Throwable unknown) {
                // See above.
            }
            before = holds ? Contexts.anchor(Target.id()) : Contexts.without(Target.id());
        }
        try {
            Target.proceed();
        } finally {
            Contexts.leave(before);
        }
    }

    /** The same in a constructor. */
    @Template(name = "own-constructor-anchor", category = "own-condition")
    static void ownConstructorAnchor() throws Throwable {
        long before = 0L;
        if (Contexts.isNext(Target.id())) {
            boolean holds = false;
            try {
                holds = Conditions.hold(Target.id(), null, Target.args());
            } catch (Throwable unknown) {
                // See above.
            }
            before = holds ? Contexts.anchor(Target.id()) : Contexts.without(Target.id());
        }
        try {
            Target.proceed();
        } finally {
            Contexts.leave(before);
        }
    }
}
