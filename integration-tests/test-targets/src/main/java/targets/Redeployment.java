package targets;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.function.IntSupplier;

/** Deploys the same application again and again, each time with a loader of its own, as a server does for months. */
public final class Redeployment {

    /** After so many the garbage collector runs. */
    private static final int SOME = 20;

    private Redeployment() {}

    public static void main(String[] arguments) throws Exception {
        URL[] classPath = {Redeployment.class.getProtectionDomain().getCodeSource().getLocation()};
        int answers = 0;
        for (int i = 1; i <= Integer.parseInt(arguments[0]); i++) {
            answers += deploy(classPath);
            if (i % SOME == 0) {
                System.gc();
            }
        }
        System.out.println("answers " + answers);
    }

    private static int deploy(URL[] classPath) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(classPath, ClassLoader.getPlatformClassLoader())) {
            Class<?> application = loader.loadClass("targets.Redeployment$Application");
            return ((IntSupplier) application.getDeclaredConstructor().newInstance()).getAsInt();
        }
    }

    /** What is deployed. */
    public static final class Application implements IntSupplier {

        public Application() {}

        @Override
        public int getAsInt() {
            return 1;
        }
    }
}
