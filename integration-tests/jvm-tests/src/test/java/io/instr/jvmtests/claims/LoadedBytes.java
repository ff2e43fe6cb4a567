package io.instr.jvmtests.claims;

import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What a running JVM has for the classes of the test programs, by a debugger: it asks JVMTI (GetBytecodes), which knows nothing of the agent. */
public final class LoadedBytes implements AutoCloseable {

    /** Has a JVM listen to a debugger; it prints a line with the port first. */
    public static final String OPTION = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0";

    private final VirtualMachine vm;

    private LoadedBytes(VirtualMachine vm) {
        this.vm = vm;
    }

    /** Of the JVM that has printed this line. */
    public static LoadedBytes of(String listening) throws Exception {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
                .filter(one -> one.name().equals("com.sun.jdi.SocketAttach"))
                .findFirst()
                .orElseThrow();
        Map<String, Connector.Argument> arguments = connector.defaultArguments();
        arguments.get("hostname").setValue("127.0.0.1");
        arguments.get("port").setValue(listening.substring(listening.lastIndexOf(' ') + 1));
        return new LoadedBytes(connector.attach(arguments));
    }

    /** The bytecode of each method of the test programs in hexadecimal; of classes with one name each that differs. */
    public Map<String, String> methods() {
        Map<String, String> methods = new TreeMap<>();
        for (ReferenceType type : classes()) {
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
        Map<String, Integer> constants = new TreeMap<>();
        classes().forEach(type -> constants.merge(type.name(), type.constantPoolCount(), Math::max));
        return constants;
    }

    /** Not the hidden ones, whose names have an address in them. */
    private List<ReferenceType> classes() {
        return vm.allClasses().stream()
                .filter(type -> type.name().startsWith("targets.") && !type.name().contains("/") && type.isPrepared())
                .toList();
    }

    @Override
    public void close() {
        try {
            vm.dispose();
        } catch (VMDisconnectedException ended) {
            // The JVM has ended before.
        }
    }
}
