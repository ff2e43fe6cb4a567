/** Compiled with -Xjcov for its CharacterRangeTable (javac cannot do that for a switch over patterns). */
class Ranges {
    int count(int limit) {
        int sum = 0;
        for (int number = 0; number < limit; number++) {
            sum += number % 2 == 0 ? number : -1;
        }
        return sum;
    }
}
