package com.machin;

import java.util.function.IntSupplier;

/** The two examples of the requirements, and a method with everything that makes a listing long. */
public class Bidule {
    private int count;

    /** this 0, double 1 and 2, array 3, object 4: a timer gets slot 5; passing all on takes five words. */
    public int passesAllOn(double factor, int[] values, Bidule other) {
        return original(factor, values, other);
    }

    private int original(double factor, int[] values, Bidule other) {
        return (int) (factor * values[0]) + other.count;
    }

    /** this 0, two parameters 1 and 2: with a timer there are four locals. */
    public void twoParameters(int by, String why) {
        count += by;
    }

    /** Switches, handlers, locals beyond 255, an indy call, every kind of constant. */
    public String bigger(String kind, int size) throws InterruptedException {
        long l00 = 1, l01 = 1, l02 = 1, l03 = 1, l04 = 1, l05 = 1, l06 = 1, l07 = 1, l08 = 1, l09 = 1;
        long l10 = 1, l11 = 1, l12 = 1, l13 = 1, l14 = 1, l15 = 1, l16 = 1, l17 = 1, l18 = 1, l19 = 1;
        double d = 2.5;
        float f = 1.5f;
        int sum = 0;
        try {
            switch (size) {
                case 1:
                case 2:
                    sum += 70_000;
                    break;
                case 3:
                    sum -= 300;
                    return "three";
                default:
                    sum += 5;
            }
            switch (kind) {
                case "a":
                    synchronized (this) {
                        wait(3_000_000_000L);
                    }
                    break;
                case "b":
                    throw new IllegalStateException("b\n\"quoted\"");
                default:
                    for (int i = 0; i < size; i++) {
                        sum += i;
                    }
            }
        } catch (IllegalStateException | IllegalArgumentException expected) {
            sum = -1;
        } finally {
            count++;
        }
        int[][] grid = new int[2][3];
        Object[] objects = {grid, new byte[4], String[].class};
        int total = sum;
        IntSupplier lambda = () -> total + size;
        return "sum " + lambda.getAsInt() + (l00 + l19) + d + f + objects.length;
    }

    /** 130 longs: the last ones need the wide forms. */
    public static long wideLocals(long first) {
        long w000 = first, w001 = first, w002 = first, w003 = first, w004 = first, w005 = first, w006 = first, w007 = first;
        long w008 = first, w009 = first, w010 = first, w011 = first, w012 = first, w013 = first, w014 = first, w015 = first;
        long w016 = first, w017 = first, w018 = first, w019 = first, w020 = first, w021 = first, w022 = first, w023 = first;
        long w024 = first, w025 = first, w026 = first, w027 = first, w028 = first, w029 = first, w030 = first, w031 = first;
        long w032 = first, w033 = first, w034 = first, w035 = first, w036 = first, w037 = first, w038 = first, w039 = first;
        long w040 = first, w041 = first, w042 = first, w043 = first, w044 = first, w045 = first, w046 = first, w047 = first;
        long w048 = first, w049 = first, w050 = first, w051 = first, w052 = first, w053 = first, w054 = first, w055 = first;
        long w056 = first, w057 = first, w058 = first, w059 = first, w060 = first, w061 = first, w062 = first, w063 = first;
        long w064 = first, w065 = first, w066 = first, w067 = first, w068 = first, w069 = first, w070 = first, w071 = first;
        long w072 = first, w073 = first, w074 = first, w075 = first, w076 = first, w077 = first, w078 = first, w079 = first;
        long w080 = first, w081 = first, w082 = first, w083 = first, w084 = first, w085 = first, w086 = first, w087 = first;
        long w088 = first, w089 = first, w090 = first, w091 = first, w092 = first, w093 = first, w094 = first, w095 = first;
        long w096 = first, w097 = first, w098 = first, w099 = first, w100 = first, w101 = first, w102 = first, w103 = first;
        long w104 = first, w105 = first, w106 = first, w107 = first, w108 = first, w109 = first, w110 = first, w111 = first;
        long w112 = first, w113 = first, w114 = first, w115 = first, w116 = first, w117 = first, w118 = first, w119 = first;
        long w120 = first, w121 = first, w122 = first, w123 = first, w124 = first, w125 = first, w126 = first, w127 = first;
        int index = 3;
        index += 200;
        index++;
        return w000 + w127 + index;
    }

    /** Left as it is. */
    abstract static class Nothing {
        abstract void declared();
    }
}
