package io.instr.jvmtests.files;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A view of the machine in which nothing can be written but one directory. Permission bits would not stop root. */
public final class ReadOnlyFileSystem {

    /** $0 is the writable directory; the mounts exist only for this command and its children. */
    private static final String SCRIPT = """
            set -e
            mount --bind "$0" "$0"
            findmnt --raw --noheadings --output TARGET | while read -r target; do
              case "$target" in "$0"|/proc*|/sys*|/dev*) continue ;; esac
              mount -o remount,ro,bind "$target" 2>/dev/null || true
            done
            cd .
            if touch /tmp/instr-probe.$$ 2>/dev/null; then echo "the file system is still writable" >&2; exit 99; fi
            exec "$@"
            """;

    private ReadOnlyFileSystem() {}

    /** A command that runs its arguments in such a view; without root in a user namespace. */
    public static List<String> exceptFor(Path writable) {
        List<String> command = new ArrayList<>(List.of("unshare", "--mount"));
        if (!System.getProperty("user.name").equals("root")) {
            command.add("--map-root-user");
        }
        command.addAll(List.of("sh", "-c", SCRIPT, writable.toString()));
        return command;
    }
}
