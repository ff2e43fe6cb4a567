package targets.callees;

import java.lang.reflect.Proxy;

/** Three stores, one of which inherits from another, and one that is generated. */
final class Stores {

    private static final Store[] ALL = {new Memory(), new Disk(), new Cache()};

    private Stores() {}

    static Store of(int article) {
        return ALL[Math.floorMod(article, ALL.length)];
    }

    static Store generated() {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> 1L);
    }

    static class Memory implements Store {

        @Override
        public long load(int article) {
            return read(article);
        }

        private static long read(int article) {
            return article;
        }
    }

    static final class Disk implements Store {

        @Override
        public long load(int article) {
            return article * 2L;
        }
    }

    static final class Cache extends Memory {

        @Override
        public long load(int article) {
            return super.load(article) + 1;
        }
    }
}
