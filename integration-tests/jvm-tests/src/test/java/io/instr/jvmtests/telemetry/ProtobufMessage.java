package io.instr.jvmtests.telemetry;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A protobuf message without its schema: values by field number, in the order of the bytes. */
public final class ProtobufMessage {

    private final Map<Integer, List<Object>> fields = new TreeMap<>();

    private ProtobufMessage() {}

    public static ProtobufMessage parse(byte[] bytes) {
        return parse(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
    }

    private static ProtobufMessage parse(ByteBuffer bytes) {
        ProtobufMessage message = new ProtobufMessage();
        while (bytes.hasRemaining()) {
            int tag = (int) varint(bytes);
            message.fields.computeIfAbsent(tag >>> 3, number -> new ArrayList<>()).add(value(tag & 7, bytes));
        }
        return message;
    }

    private static Object value(int wireType, ByteBuffer bytes) {
        switch (wireType) {
            case 0:
                return varint(bytes);
            case 1:
                return bytes.getLong();
            case 2:
                byte[] content = new byte[(int) varint(bytes)];
                bytes.get(content);
                return content;
            case 5:
                return (long) bytes.getInt();
            default:
                throw new AssertionError("wire type " + wireType);
        }
    }

    private static long varint(ByteBuffer bytes) {
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            byte part = bytes.get();
            value |= (long) (part & 0x7f) << shift;
            if (part >= 0) {
                return value;
            }
        }
        throw new AssertionError("a number of more than ten bytes");
    }

    public boolean has(int field) {
        return fields.containsKey(field);
    }

    /** Messages of a repeated field. */
    public List<ProtobufMessage> messages(int field) {
        return fields.getOrDefault(field, List.of()).stream().map(content -> parse((byte[]) content)).toList();
    }

    public ProtobufMessage message(int field) {
        return messages(field).get(0);
    }

    /** Messages at the end of a path of fields. */
    public List<ProtobufMessage> path(int... path) {
        List<ProtobufMessage> here = List.of(this);
        for (int field : path) {
            here = here.stream().flatMap(message -> message.messages(field).stream()).toList();
        }
        return here;
    }

    public String string(int field) {
        return has(field) ? new String(bytes(field), StandardCharsets.UTF_8) : "";
    }

    public byte[] bytes(int field) {
        return has(field) ? (byte[]) fields.get(field).get(0) : new byte[0];
    }

    /** A number of any whole type; 0 if it is absent. */
    public long number(int field) {
        return has(field) ? (Long) fields.get(field).get(0) : 0;
    }

    public double real(int field) {
        return Double.longBitsToDouble(number(field));
    }

    /** Numbers of a packed field. */
    public List<Long> packed(int field) {
        List<Long> numbers = new ArrayList<>();
        ByteBuffer bytes = ByteBuffer.wrap(bytes(field));
        while (bytes.hasRemaining()) {
            numbers.add(varint(bytes));
        }
        return numbers;
    }
}
