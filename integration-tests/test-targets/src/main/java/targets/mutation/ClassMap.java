package targets.mutation;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Where the parts of a class file lie, for changing them on purpose. The file must be a good one. */
final class ClassMap {

    /** Offsets of the tags of the constants. */
    final List<Integer> constants = new ArrayList<>();
    /** Offsets of the attributes, those inside others too. */
    final List<Integer> attributes = new ArrayList<>();
    /** Offsets of fields and methods. */
    final List<Integer> members = new ArrayList<>();
    /** Offset after the constant pool. */
    final int poolEnd;

    private final ByteBuffer in;
    private final List<String> texts = new ArrayList<>();

    ClassMap(byte[] bytes) {
        in = ByteBuffer.wrap(bytes);
        in.position(8);
        constantPool();
        poolEnd = in.position();
        skip(6);
        skip(2 * u2());
        members();
        members();
        attributes();
    }

    private void constantPool() {
        int count = u2();
        texts.add("");
        while (texts.size() < count) {
            constants.add(in.position());
            int tag = in.get();
            texts.add("");
            if (tag == 1) {
                byte[] text = new byte[u2()];
                in.get(text);
                texts.set(texts.size() - 1, new String(text, java.nio.charset.StandardCharsets.ISO_8859_1));
                continue;
            }
            boolean twoSlots = tag == 5 || tag == 6;
            boolean oneIndex = tag == 7 || tag == 8 || tag == 16 || tag == 19 || tag == 20;
            skip(twoSlots ? 8 : oneIndex ? 2 : tag == 15 ? 3 : 4);
            if (twoSlots) {
                texts.add("");
            }
        }
    }

    private void members() {
        for (int count = u2(); count > 0; count--) {
            members.add(in.position());
            skip(6);
            attributes();
        }
    }

    private void attributes() {
        for (int count = u2(); count > 0; count--) {
            attributes.add(in.position());
            String name = texts.get(u2());
            int end = in.getInt() + in.position();
            if (name.equals("Code")) {
                skip(4);
                skip(in.getInt());
                skip(8 * u2());
                attributes();
            }
            in.position(end);
        }
    }

    private int u2() {
        return in.getShort() & 0xffff;
    }

    private void skip(int bytes) {
        in.position(in.position() + bytes);
    }
}
