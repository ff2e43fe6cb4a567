//! Delegates: methods that get a template because another method hands them to somebody who calls them. The classes of the package `tasks` mark each other's
//! methods.

use crate::{Case, case};

const SINKS: &str = "class = 'tasks.Submits'\ndelegates = 'sinks'";
const HANDED: &str = "handed to ExecutorService.submit";

pub(crate) const CASES: &[Case] = &[
    case(
        "lambdas and method references of the class itself",
        "tasks/Submits",
        SINKS,
        &["ownMethod", "lambda$variable$2", "lambda$lambda$0"],
        &[
            ("ownMethod", "delegate of tasks.Submits.own, handed to ExecutorService.submit"),
            ("lambda$lambda$0", HANDED),
            ("lambda$chosen$4", "no method that the rule is about hands it"),
            ("lambda$wrapped$5", "no method that the rule is about hands it"),
            ("lambda$stream$6", "no method that the rule is about hands it"),
        ],
    ),
    case(
        "method and constructor references to another class",
        "tasks/Jobs",
        SINKS,
        &["<init>", "run", "make"],
        &[
            ("<init>", "delegate of tasks.Submits.constructor, handed to CompletableFuture.supplyAsync"),
            ("run", "delegate of tasks.Submits.other, handed to ExecutorService.execute"),
        ],
    ),
    case(
        "an anonymous class, without its other methods",
        "tasks/Submits$1",
        SINKS,
        &["call()"],
        &[("helper", "hands it")],
    ),
    case(
        "an inner class in a thread",
        "tasks/Submits$Inner",
        SINKS,
        &["run"],
        &[("run", "delegate of tasks.Submits.inner, handed to Thread.<init>")],
    ),
    case("a task of a timer", "tasks/Submits$Beat", SINKS, &["run"], &[("run", "handed to Timer.schedule")]),
    case("a task of a pool", "tasks/Submits$Forked", SINKS, &["compute()"], &[("compute()", "ForkJoinPool.submit")]),
    case(
        "all that is created",
        "tasks/Submits",
        "class = 'tasks.Submits'\ndelegates = 'any'",
        &[
            "ownMethod",
            "lambda$stream$6",
            "lambda$wrapped$5",
            "lambda$chosen$4",
            "lambda$chosen$3",
            "lambda$variable$2",
            "lambda$supplier$1",
            "lambda$lambda$0",
        ],
        &[("lambda$stream$6", "delegate of tasks.Submits.stream")],
    ),
    case(
        "of one method only",
        "tasks/Submits",
        "class = 'tasks.Submits'\nmethod = 'lambda'\ndelegates = 'sinks'",
        &["lambda$lambda$0"],
        &[],
    ),
    case(
        "another class, of one method only",
        "tasks/Jobs",
        "class = 'tasks.Submits'\nmethod = 'other'\ndelegates = 'sinks'",
        &["run"],
        &[],
    ),
    case(
        "the first rule decides about a delegate, too",
        "tasks/Submits",
        "[[rule]]\nclass = 'tasks.*'\nmethod = 'own*'\nexclude = '**#ownMethod'\n[[rule]]\nclass = 'tasks.Submits'\ndelegates = 'sinks'",
        &["own", "lambda$variable$2", "lambda$lambda$0"],
        &[("ownMethod", "`exclude` of the rule")],
    ),
    case(
        "delegates of a package that is excluded",
        "tasks/Jobs",
        "[exclude]\nclass = ['tasks.Jobs']\n[[rule]]\nclass = 'tasks.*'\ndelegates = 'sinks'",
        &[],
        &[],
    ),
    case(
        "Kotlin's lambdas and references",
        "tasks/KotlinTasks",
        "class = 'tasks.KotlinTasks'\ndelegates = 'sinks'",
        &["work", "lambda$lambda$0"],
        &[("work", "delegate of tasks.KotlinTasks.reference")],
    ),
    case(
        "Kotlin's objects",
        "tasks/KotlinTasks$Single",
        "class = 'tasks.KotlinTasks'\ndelegates = 'sinks'",
        &["run"],
        &[],
    ),
    case(
        "Scala's functions",
        "tasks/ScalaTasks",
        "class = 'tasks.ScalaTasks'\ndelegates = 'sinks'",
        &["$anonfun$lambda$1"],
        &[],
    ),
    case(
        "Groovy's closures are coerced by its runtime, and not followed",
        "tasks/GroovyTasks$_closure_closure1",
        "class = 'tasks.GroovyTasks'\ndelegates = 'sinks'",
        &[],
        &[],
    ),
];
