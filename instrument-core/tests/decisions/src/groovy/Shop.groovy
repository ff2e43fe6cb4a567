package gr

import groovy.transform.CompileStatic

class Shop {
    String title

    def stock(amount = 3) {
        title.hashCode() * amount
    }

    def each(names) {
        names.collect { it.trim().length() }
    }

    @CompileStatic
    int fixed(String text) {
        return text.trim().length()
    }
}

trait Greeter {
    String greet() { "hello".toUpperCase() }
}

class Friendly implements Greeter {}
