package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
import java.instr.Sockets;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;

/** For the JDK's sockets and socket channels: peer and bytes of each transfer. */
final class Socket {
    private Socket() {}

    /** Methods that return the number of bytes. */
    @Template(name = "socket", category = "socket")
    static void socket() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.transfers;
        nesting.transfers = found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.transfers = found;
            Sockets.exit(start, Target.id(), Target.self(), Target.result(), nesting, found);
        }
    }

    @Template(name = "socket", category = "socket", live = true)
    static void socketLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.transfers;
        nesting.transfers = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.transfers = found;
            Sockets.exitLive(start, Target.id(), Target.self(), Target.result(), Target.thrown(), nesting, found);
        }
    }

    /** Methods whose third argument is the number of bytes. */
    @Template(name = "socket-write", category = "socket")
    static void socketWrite() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.transfers;
        nesting.transfers = found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.transfers = found;
            Sockets.exit(start, Target.id(), Target.self(), Target.arg(2), nesting, found);
        }
    }

    @Template(name = "socket-write", category = "socket", live = true)
    static void socketWriteLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.transfers;
        nesting.transfers = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.transfers = found;
            Sockets.exitLive(start, Target.id(), Target.self(), Target.arg(2), Target.thrown(), nesting, found);
        }
    }
}
