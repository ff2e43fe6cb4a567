package old;

class OldNest {
    private void secret() {
        System.out.println();
    }

    Runnable anonymous() {
        return new Runnable() {
            public void run() {
                secret();
            }
        };
    }

    private class Inner {
        private Inner() {}
    }

    Object inner() {
        return new Inner();
    }
}
