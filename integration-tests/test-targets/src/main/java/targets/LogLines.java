package targets;

import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Logs ten times; three records are below the logger's level. */
public final class LogLines {

    private LogLines() {}

    public static void main(String[] arguments) {
        Logger logger = Logger.getLogger("targets.lines");
        logger.setUseParentHandlers(false);
        logger.setLevel(Level.INFO);
        logger.addHandler(new Handler() {
            @Override
            public void publish(LogRecord line) {
                System.out.println(line.getLevel() + " " + line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
        for (int i = 0; i < 3; i++) {
            logger.fine("not seen");
            logger.warning("warning " + i);
            logger.log(Level.SEVERE, "severe {0}", i);
        }
        logger.info("done");
    }
}
