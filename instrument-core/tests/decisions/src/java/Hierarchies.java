package types;

interface Handler {
    void handle();

    default void prepare() {
        handle();
    }

    static Handler of(Handler handler) {
        handler.secret();
        return handler;
    }

    private void secret() {
        handle();
    }
}

interface SubHandler extends Handler {}

class Direct implements Handler {
    public void handle() {
        System.out.println();
    }
}

class Child extends Direct {
    @Override
    public void handle() {
        super.handle();
    }
}

class GrandChild extends Child {
    void other() {
        handle();
    }
}

class ViaSubHandler implements SubHandler {
    public void handle() {
        System.out.println();
    }
}

abstract class AbstractHandler implements Handler {
    public abstract void handle();

    void helper() {
        handle();
    }
}

class Unrelated {
    void handle() {
        System.out.println();
    }
}

enum Colour implements Handler {
    RED {
        @Override
        public void handle() {
            System.out.println("red");
        }
    };

    public void handle() {
        System.out.println(this);
    }
}

record Point(int x, int y) implements Handler {
    Point {
        System.out.println(x);
    }

    public void handle() {
        System.out.println(this);
    }
}

sealed interface Shape permits Square {}

final class Square implements Shape {
    double area() {
        return Math.random();
    }
}

class Names extends java.util.ArrayList<String> {
    @Override
    public boolean add(String name) {
        System.out.println(name);
        return super.add(name);
    }
}

class Orphan extends lost.Base {
    void handle() {
        System.out.println();
    }
}

class HalfOrphan extends lost.Base implements Handler {
    public void handle() {
        System.out.println();
    }
}

class Holder {
    class Inner implements Handler {
        public void handle() {
            System.out.println(Holder.this);
        }
    }

    static class Nested implements Handler {
        public void handle() {
            System.out.println();
        }
    }

    Handler local() {
        class Local implements Handler {
            public void handle() {
                System.out.println();
            }
        }
        return new Local();
    }
}
