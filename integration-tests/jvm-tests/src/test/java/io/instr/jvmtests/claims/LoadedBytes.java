package io.instr.jvmtests.claims;

import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.IllegalConnectorArgumentsException;
import io.instr.jvmtests.jvm.Awaiting;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * What a running JVM has for the classes of the test programs, by a debugger: it asks JVMTI (GetBytecodes), which knows nothing of the agent. It attaches anew for each
 * look: a debugger that stays attached remembers the bytecode that it has seen.
 */
public final class LoadedBytes {

    private static final String OF_TEST_PROGRAMS = "targets.";

    private final int port;
    /** Of the names of the classes that are looked at. */
    private final String beginning;

    private LoadedBytes(int port, String beginning) {
        this.port = port;
        this.beginning = beginning;
    }

    /** The same JVM, but classes whose names begin so in the place of the test programs'. */
    public LoadedBytes ofClasses(String beginning) {
        return new LoadedBytes(port, beginning);
    }

    /** Of a JVM that is about to be started with {@link #option}. */
    public static LoadedBytes atFreePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            return new LoadedBytes(free.getLocalPort(), OF_TEST_PROGRAMS);
        }
    }

    /** Has the JVM listen to a debugger, without a word on its output. */
    public String option() {
        return "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:" + port;
    }

    /** The bytecode of each method of the test programs in hexadecimal; of classes with one name each that differs. */
    public Map<String, String> methods() {
        return look(LoadedBytes::methods);
    }

    private static Map<String, String> methods(List<ReferenceType> classes) {
        Map<String, String> methods = new TreeMap<>();
        for (ReferenceType type : classes) {
            for (Method method : type.methods()) {
                String bytecode = HexFormat.of().formatHex(method.bytecodes());
                String name = type.name() + "." + method.name() + method.signature();
                methods.merge(name, bytecode, (one, other) -> one.equals(other) ? one : one + " and " + other);
            }
        }
        return methods;
    }

    /** The entries of the constant pool of each class; of classes with one name of the one with most. */
    public Map<String, Integer> constants() {
        return look(classes -> {
            Map<String, Integer> constants = new TreeMap<>();
            classes.forEach(type -> constants.merge(type.name(), type.constantPoolCount(), Math::max));
            return constants;
        });
    }

    private <T> T look(Function<List<ReferenceType>, T> question) {
        // After the last look the JVM takes a moment until it listens again.
        VirtualMachine vm = Awaiting.await(this::attach, attached -> attached != null);
        try {
            return question.apply(classes(vm));
        } finally {
            vm.dispose();
        }
    }

    private VirtualMachine attach() throws IllegalConnectorArgumentsException {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
                .filter(one -> one.name().equals("com.sun.jdi.SocketAttach"))
                .findFirst()
                .orElseThrow();
        Map<String, Connector.Argument> arguments = connector.defaultArguments();
        arguments.get("hostname").setValue("127.0.0.1");
        arguments.get("port").setValue(String.valueOf(port));
        try {
            return connector.attach(arguments);
        } catch (IOException notListening) {
            return null;
        }
    }

    /** Not the hidden ones, whose names have an address in them. */
    private List<ReferenceType> classes(VirtualMachine vm) {
        return vm.allClasses().stream()
                .filter(type -> type.name().startsWith(beginning) && !type.name().contains("/") && type.isPrepared())
                .toList();
    }
}
