package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Does what each line on standard input says and answers with one line: {@code load}, {@code submit TIMES}, {@code quit}. */
public final class Handing {

    private Handing() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        boolean submitted = false;
        for (String line = commands.readLine(); !line.equals("quit"); line = commands.readLine()) {
            if (line.equals("load")) {
                System.out.println("loaded " + HandedJobs.run());
            } else {
                submitted = true;
                System.out.println("sum " + Submitting.all(Integer.parseInt(line.substring("submit ".length()))));
            }
        }
        if (submitted) {
            Submitting.end();
        }
    }
}
