package targets.features;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import targets.Calls;

/** Runs one class per feature of the language and prints what each computes, then how often each method ran. */
public final class AllFeatures {

    private AllFeatures() {}

    public static void main(String[] wanted) throws Exception {
        Map<String, Callable<String>> features = new LinkedHashMap<>();
        features.put("constructors", Constructors::run);
        features.put("enums", Enums::run);
        features.put("exceptions", Exceptions::run);
        features.put("generated", GeneratedClasses::run);
        features.put("generics", Generics::run);
        features.put("initializers", Initializers::run);
        features.put("interfaces", Interfaces::run);
        features.put("lambdas", Lambdas::run);
        features.put("locking", Locking::run);
        features.put("loops", Loops::run);
        features.put("recursion", Recursion::run);
        features.put("returns", ReturnTypes::run);
        features.put("switches", Switches::run);
        features.put("wide locals", WideLocals::run);
        for (Map.Entry<String, Callable<String>> feature : features.entrySet()) {
            System.out.println(feature.getKey() + ": " + feature.getValue().call());
        }
        Calls.print();
    }
}
