package targets.callees;

/** What a shop loads articles from. Not public: a proxy of it is a class of this package that is generated at run time. */
interface Store {

    long load(int article);

    default String label() {
        return "store";
    }
}
