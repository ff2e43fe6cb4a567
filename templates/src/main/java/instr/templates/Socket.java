package instr.templates;

import java.instr.Live;
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
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Sockets.exit(start, Target.id(), Target.self(), Target.result());
        }
    }

    @Template(name = "socket", category = "socket", live = true)
    static void socketLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Sockets.exitLive(start, Target.id(), Target.self(), Target.result(), Target.thrown());
        }
    }

    /** Methods whose third argument is the number of bytes. */
    @Template(name = "socket-write", category = "socket")
    static void socketWrite() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Sockets.exit(start, Target.id(), Target.self(), Target.arg(2));
        }
    }

    @Template(name = "socket-write", category = "socket", live = true)
    static void socketWriteLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Sockets.exitLive(start, Target.id(), Target.self(), Target.arg(2), Target.thrown());
        }
    }
}
