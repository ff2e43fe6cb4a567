package targets.features;

import targets.Calls;

/** Wide arguments and more locals than one byte can number. */
final class WideLocals {

    private static final String PREFIX = "targets.features.WideLocals.";

    private WideLocals() {}

    static String run() {
        return mixed(1, 2L, 3f, 4d, "5", (byte) 6, 'x', true, 7L, new int[] {8}) + " "
                + overwritten(3, 4L) + " " + many(1000) + " " + Long.toHexString(all()) + " " + new WideLocals().instance(2.5, 9L);
    }

    static String mixed(int a, long b, float c, double d, String e, byte f, char g, boolean h, long i, int[] j) {
        Calls.one(PREFIX + "mixed");
        double sum = a + b + c + d + e.length() + f + g + i + j[0];
        return sum + (h ? "+" : "-");
    }

    /** The arguments' slots are used again for other types. */
    static String overwritten(int a, long b) {
        Calls.one(PREFIX + "overwritten");
        a = (int) b * 2;
        {
            String text = "x" + a;
            b = text.length();
        }
        {
            double real = b * 0.25;
            a += (int) (real * 8);
        }
        return a + ":" + b;
    }

    double instance(double factor, long n) {
        Calls.one(PREFIX + "instance");
        return factor * n;
    }

    /** 130 locals of two slots. */
    static long many(long seed) {
        Calls.one(PREFIX + "many");
        int counter = 0;
        long v0 = seed + 0;
        long v1 = seed + 1;
        long v2 = seed + 2;
        long v3 = seed + 3;
        long v4 = seed + 4;
        long v5 = seed + 5;
        long v6 = seed + 6;
        long v7 = seed + 7;
        long v8 = seed + 8;
        long v9 = seed + 9;
        long v10 = seed + 10;
        long v11 = seed + 11;
        long v12 = seed + 12;
        long v13 = seed + 13;
        long v14 = seed + 14;
        long v15 = seed + 15;
        long v16 = seed + 16;
        long v17 = seed + 17;
        long v18 = seed + 18;
        long v19 = seed + 19;
        long v20 = seed + 20;
        long v21 = seed + 21;
        long v22 = seed + 22;
        long v23 = seed + 23;
        long v24 = seed + 24;
        long v25 = seed + 25;
        long v26 = seed + 26;
        long v27 = seed + 27;
        long v28 = seed + 28;
        long v29 = seed + 29;
        long v30 = seed + 30;
        long v31 = seed + 31;
        long v32 = seed + 32;
        long v33 = seed + 33;
        long v34 = seed + 34;
        long v35 = seed + 35;
        long v36 = seed + 36;
        long v37 = seed + 37;
        long v38 = seed + 38;
        long v39 = seed + 39;
        long v40 = seed + 40;
        long v41 = seed + 41;
        long v42 = seed + 42;
        long v43 = seed + 43;
        long v44 = seed + 44;
        long v45 = seed + 45;
        long v46 = seed + 46;
        long v47 = seed + 47;
        long v48 = seed + 48;
        long v49 = seed + 49;
        long v50 = seed + 50;
        long v51 = seed + 51;
        long v52 = seed + 52;
        long v53 = seed + 53;
        long v54 = seed + 54;
        long v55 = seed + 55;
        long v56 = seed + 56;
        long v57 = seed + 57;
        long v58 = seed + 58;
        long v59 = seed + 59;
        long v60 = seed + 60;
        long v61 = seed + 61;
        long v62 = seed + 62;
        long v63 = seed + 63;
        long v64 = seed + 64;
        long v65 = seed + 65;
        long v66 = seed + 66;
        long v67 = seed + 67;
        long v68 = seed + 68;
        long v69 = seed + 69;
        long v70 = seed + 70;
        long v71 = seed + 71;
        long v72 = seed + 72;
        long v73 = seed + 73;
        long v74 = seed + 74;
        long v75 = seed + 75;
        long v76 = seed + 76;
        long v77 = seed + 77;
        long v78 = seed + 78;
        long v79 = seed + 79;
        long v80 = seed + 80;
        long v81 = seed + 81;
        long v82 = seed + 82;
        long v83 = seed + 83;
        long v84 = seed + 84;
        long v85 = seed + 85;
        long v86 = seed + 86;
        long v87 = seed + 87;
        long v88 = seed + 88;
        long v89 = seed + 89;
        long v90 = seed + 90;
        long v91 = seed + 91;
        long v92 = seed + 92;
        long v93 = seed + 93;
        long v94 = seed + 94;
        long v95 = seed + 95;
        long v96 = seed + 96;
        long v97 = seed + 97;
        long v98 = seed + 98;
        long v99 = seed + 99;
        long v100 = seed + 100;
        long v101 = seed + 101;
        long v102 = seed + 102;
        long v103 = seed + 103;
        long v104 = seed + 104;
        long v105 = seed + 105;
        long v106 = seed + 106;
        long v107 = seed + 107;
        long v108 = seed + 108;
        long v109 = seed + 109;
        long v110 = seed + 110;
        long v111 = seed + 111;
        long v112 = seed + 112;
        long v113 = seed + 113;
        long v114 = seed + 114;
        long v115 = seed + 115;
        long v116 = seed + 116;
        long v117 = seed + 117;
        long v118 = seed + 118;
        long v119 = seed + 119;
        long v120 = seed + 120;
        long v121 = seed + 121;
        long v122 = seed + 122;
        long v123 = seed + 123;
        long v124 = seed + 124;
        long v125 = seed + 125;
        long v126 = seed + 126;
        long v127 = seed + 127;
        long v128 = seed + 128;
        long v129 = seed + 129;
        for (int i = 0; i < 300; i++) {
            counter += 1000;
            v129 += counter;
        }
        return v0 ^ v1 ^ v2 ^ v3 ^ v4 ^ v5 ^ v6 ^ v7 ^ v8 ^ v9 ^ v10 ^ v11 ^ v12 ^ v13 ^ v14 ^ v15 ^ v16 ^ v17 ^ v18
                ^ v19 ^ v20 ^ v21 ^ v22 ^ v23 ^ v24 ^ v25 ^ v26 ^ v27 ^ v28 ^ v29 ^ v30 ^ v31 ^ v32 ^ v33 ^ v34 ^ v35
                ^ v36 ^ v37 ^ v38 ^ v39 ^ v40 ^ v41 ^ v42 ^ v43 ^ v44 ^ v45 ^ v46 ^ v47 ^ v48 ^ v49 ^ v50 ^ v51 ^ v52
                ^ v53 ^ v54 ^ v55 ^ v56 ^ v57 ^ v58 ^ v59 ^ v60 ^ v61 ^ v62 ^ v63 ^ v64 ^ v65 ^ v66 ^ v67 ^ v68 ^ v69
                ^ v70 ^ v71 ^ v72 ^ v73 ^ v74 ^ v75 ^ v76 ^ v77 ^ v78 ^ v79 ^ v80 ^ v81 ^ v82 ^ v83 ^ v84 ^ v85 ^ v86
                ^ v87 ^ v88 ^ v89 ^ v90 ^ v91 ^ v92 ^ v93 ^ v94 ^ v95 ^ v96 ^ v97 ^ v98 ^ v99 ^ v100 ^ v101 ^ v102
                ^ v103 ^ v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109 ^ v110 ^ v111 ^ v112 ^ v113 ^ v114 ^ v115 ^ v116
                ^ v117 ^ v118 ^ v119 ^ v120 ^ v121 ^ v122 ^ v123 ^ v124 ^ v125 ^ v126 ^ v127 ^ v128 ^ v129 ^ counter;
    }

    private static long all() {
        return fullFrame(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63, 66, 69, 72, 75, 78, 81, 84, 87,
                90, 93, 96, 99, 102, 105, 108, 111, 114, 117, 120, 123, 126, 129, 132, 135, 138, 141, 144, 147, 150,
                153, 156, 159, 162, 165, 168, 171, 174, 177, 180, 183, 186, 189, 192, 195, 198, 201, 204, 207, 210,
                213, 216, 219, 222, 225, 228, 231, 234, 237, 240, 243, 246, 249, 252, 255, 258, 261, 264, 267, 270,
                273, 276, 279, 282, 285, 288, 291, 294, 297, 300, 303, 306, 309, 312, 315, 318, 321, 324, 327, 330,
                333, 336, 339, 342, 345, 348, 351, 354, 357, 360, 363, 366, 369, 372, 375);
    }

    /** 126 arguments of two slots: three slots are left of the 255. */
    static long fullFrame(
            long p0, long p1, long p2, long p3, long p4, long p5, long p6, long p7, long p8, long p9, long p10,
            long p11, long p12, long p13, long p14, long p15, long p16, long p17, long p18, long p19, long p20,
            long p21, long p22, long p23, long p24, long p25, long p26, long p27, long p28, long p29, long p30,
            long p31, long p32, long p33, long p34, long p35, long p36, long p37, long p38, long p39, long p40,
            long p41, long p42, long p43, long p44, long p45, long p46, long p47, long p48, long p49, long p50,
            long p51, long p52, long p53, long p54, long p55, long p56, long p57, long p58, long p59, long p60,
            long p61, long p62, long p63, long p64, long p65, long p66, long p67, long p68, long p69, long p70,
            long p71, long p72, long p73, long p74, long p75, long p76, long p77, long p78, long p79, long p80,
            long p81, long p82, long p83, long p84, long p85, long p86, long p87, long p88, long p89, long p90,
            long p91, long p92, long p93, long p94, long p95, long p96, long p97, long p98, long p99, long p100,
            long p101, long p102, long p103, long p104, long p105, long p106, long p107, long p108, long p109,
            long p110, long p111, long p112, long p113, long p114, long p115, long p116, long p117, long p118,
            long p119, long p120, long p121, long p122, long p123, long p124, long p125) {
        Calls.one(PREFIX + "fullFrame");
        long sum = 0;
        for (long term : new long[] {
            p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, p22,
            p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35, p36, p37, p38, p39, p40, p41, p42, p43,
            p44, p45, p46, p47, p48, p49, p50, p51, p52, p53, p54, p55, p56, p57, p58, p59, p60, p61, p62, p63, p64,
            p65, p66, p67, p68, p69, p70, p71, p72, p73, p74, p75, p76, p77, p78, p79, p80, p81, p82, p83, p84, p85,
            p86, p87, p88, p89, p90, p91, p92, p93, p94, p95, p96, p97, p98, p99, p100, p101, p102, p103, p104, p105,
            p106, p107, p108, p109, p110, p111, p112, p113, p114, p115, p116, p117, p118, p119, p120, p121, p122,
            p123, p124, p125
        }) {
            sum = sum * 31 + term;
        }
        return sum;
    }
}
