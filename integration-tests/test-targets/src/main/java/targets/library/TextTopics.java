package targets.library;

import static targets.library.LibraryTour.show;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.text.ChoiceFormat;
import java.text.Collator;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.text.MessageFormat;
import java.text.Normalizer;
import java.text.SimpleDateFormat;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.chrono.JapaneseDate;
import java.time.format.DateTimeFormatter;
import java.time.format.FormatStyle;
import java.time.format.TextStyle;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.Properties;
import java.util.Scanner;
import java.util.StringJoiner;
import java.util.StringTokenizer;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Strings, numbers, formats, dates, character sets. */
final class TextTopics {

    private TextTopics() {}

    static void visitAll() {
        show("strings", TextTopics::strings);
        show("string switch", () -> switched("alpha") + switched("AaAa") + switched("BBBB") + switched("other"));
        show("regex", TextTopics::regex);
        show("bad regex", () -> Pattern.compile("(unclosed"));
        show("formatter", () -> String.format(Locale.ROOT, "%-8s|%08.3f|%,d|%x|%tF|%b|%e|%c", "left", Math.PI, 1234567, 255,
                new GregorianCalendar(2024, 1, 29), true, 12345.678, 'x'));
        show("numbers", TextTopics::numbers);
        show("message format", TextTopics::messages);
        show("charsets", TextTopics::charsets);
        show("unmappable", () -> StandardCharsets.US_ASCII.newEncoder().onUnmappableCharacter(CodingErrorAction.REPORT)
                .encode(CharBuffer.wrap("\u00e4")));
        show("dates", TextTopics::dates);
        show("zones", TextTopics::zones);
        show("old dates", TextTopics::oldDates);
        show("bad date", () -> LocalDate.parse("2024-02-30"));
        show("parsers", TextTopics::parsers);
        show("not a number", () -> Integer.parseInt("12x"));
    }

    private static Object strings() {
        StringBuilder builder = new StringBuilder("abc").insert(1, 2.5f).reverse().append(new char[] {'x', '\u20ac'})
                .appendCodePoint(0x1F600);
        builder.deleteCharAt(0).setLength(6);
        StringBuffer buffer = new StringBuffer().append(1L).append(true).append('c').append(1e10);
        String concatenated = builder + "|" + buffer + 'c' + 1 + 2L + 3.0f + null + Locale.ROOT;
        return concatenated + " a,b,,c ".strip().split(",").length + "x".repeat(3) + "\n \nb".lines().count()
                + "stra\u00dfe".toUpperCase(Locale.GERMAN)
                + "ABC".toLowerCase(Locale.ROOT).indexOf("c") + "aXbX".replace("X", "--") + "same".intern().equals("same")
                + "b".compareTo("abc")
                + "title".chars().sum() + String.join("/", "p", "q") + "x".isBlank() + Character.getName('a')
                + Character.isLetter(0x10400);
    }

    private static int switched(String text) {
        switch (text) {
            case "alpha":
                return 1;
            case "AaAa":
                return 2;
            case "BBBB":
                return 3;
            default:
                return 4;
        }
    }

    private static Object regex() {
        Matcher matcher = Pattern.compile("(?<key>\\w+)=(?<value>[^;]*+);?", Pattern.UNICODE_CASE | Pattern.CASE_INSENSITIVE)
                .matcher("a=1;b=;\u00c4=x");
        StringBuilder text = new StringBuilder();
        while (matcher.find()) {
            text.append(matcher.group("key")).append(':').append(matcher.group(2)).append('@').append(matcher.start()).append(' ');
        }
        return text + "x1y22".replaceAll("(\\d+)", "<$1>") + Pattern.matches("(?i)(a|b)*?c{2,3}(?=d)d(?<!e)", "abAbccd")
                + Arrays.toString(Pattern.compile("\\s*[,;]\\s*").split("p , q;r")) + "aaa".replaceFirst("a{2}", "\\$")
                + Pattern.compile("\\p{Lu}\\X").matcher("\u00c9a").find();
    }

    private static Object numbers() throws Exception {
        BigInteger big = new BigInteger("123456789012345678901234567890").modPow(BigInteger.valueOf(65537), BigInteger.TWO.pow(127)
                .subtract(BigInteger.ONE));
        BigDecimal decimal = new BigDecimal("10").divide(new BigDecimal("3"), MathContext.DECIMAL128)
                .setScale(7, java.math.RoundingMode.HALF_EVEN);
        DecimalFormat format = new DecimalFormat("#,##0.00;(#)", DecimalFormatSymbols.getInstance(Locale.GERMANY));
        return big + " " + big.isProbablePrime(20) + decimal + decimal.stripTrailingZeros().toEngineeringString()
                + format.format(-1234567.891) + format.parse("1.234,5")
                + Double.parseDouble("1e-300") + Float.toString(1.1f) + Long.parseLong("-7f", 16) + Double.toString(2e-3)
                + Math.fma(1.5, 2, 3) + StrictMath.sin(1);
    }

    private static Object messages() {
        String choice = new ChoiceFormat("0#none|1#one|1<many").format(7);
        return choice + new MessageFormat("{0,number,integer} of {1} at {2,date,yyyy} ''{3}''", Locale.US)
                .format(new Object[] {1234, "x", new Date(0), null})
                + Normalizer.normalize("e\u0301", Normalizer.Form.NFC).length() + Collator.getInstance(Locale.ROOT).compare("a", "B");
    }

    private static Object charsets() {
        StringBuilder text = new StringBuilder();
        for (String name : new String[] {"UTF-8", "UTF-16LE", "UTF-32", "ISO-8859-1", "US-ASCII", "windows-1252", "IBM437"}) {
            byte[] bytes = "A\u00e9\u20ac\ud83d\ude00".getBytes(Charset.forName(name));
            text.append(name).append(Arrays.hashCode(bytes)).append(new String(bytes, Charset.forName(name)).length()).append(' ');
        }
        String encoded = Base64.getMimeEncoder().encodeToString(text.toString().getBytes(StandardCharsets.UTF_8));
        return text + " " + encoded.length() + new String(Base64.getMimeDecoder().decode(encoded), StandardCharsets.UTF_8)
                .equals(text.toString());
    }

    private static Object dates() {
        LocalDate leap = LocalDate.of(2024, 2, 29);
        LocalDateTime time = leap.plusYears(1).with(TemporalAdjusters.firstInMonth(DayOfWeek.MONDAY)).atTime(23, 59, 59, 5);
        return time + " " + Period.between(leap, LocalDate.of(2030, 1, 1)) + Duration.ofMillis(123456789)
                + ChronoUnit.WEEKS.between(leap, leap.plusDays(100))
                + DateTimeFormatter.ofPattern("EEEE d MMMM uuuu HH:mm:ss.SSS", Locale.ENGLISH).format(time)
                + DateTimeFormatter.ISO_WEEK_DATE.format(leap)
                + JapaneseDate.from(leap) + DayOfWeek.FRIDAY.getDisplayName(TextStyle.SHORT, Locale.FRENCH)
                + LocalDate.parse("Mar 3 2020", DateTimeFormatter.ofPattern("MMM d yyyy", Locale.US));
    }

    private static Object zones() {
        ZonedDateTime gap = ZonedDateTime.of(2024, 3, 31, 2, 30, 0, 0, ZoneId.of("Europe/Berlin"));
        Instant instant = gap.toInstant().truncatedTo(ChronoUnit.HOURS);
        return gap + " " + instant + gap.withZoneSameInstant(ZoneId.of("America/New_York"))
                + instant.atOffset(ZoneOffset.ofHoursMinutes(5, 30))
                + ZoneId.of("Asia/Tokyo").getRules().getStandardOffset(instant)
                + DateTimeFormatter.ofLocalizedDate(FormatStyle.MEDIUM).withLocale(Locale.UK).format(gap);
    }

    private static Object oldDates() throws Exception {
        SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSSZ EEE", Locale.US);
        format.setTimeZone(TimeZone.getTimeZone("Australia/Lord_Howe"));
        String text = format.format(new Date(1_700_000_000_123L));
        return text + format.parse(text).getTime() + new GregorianCalendar(1582, 9, 4).getTimeInMillis();
    }

    private static Object parsers() throws Exception {
        Properties properties = new Properties();
        properties.load(new java.io.StringReader("a = 1\n# comment\nb:\\u0041\\\n  c\n"));
        Scanner scanner = new Scanner("12 3,5 word\nline two").useLocale(Locale.GERMANY);
        StringTokenizer tokens = new StringTokenizer("a b;c", " ;", true);
        return properties.getProperty("b") + scanner.nextInt() + scanner.nextDouble() + scanner.next() + scanner.nextLine()
                + scanner.nextLine()
                + tokens.countTokens() + new StringJoiner(",", "{", "}").add("j")
                + java.net.URI.create("http://h:1/a/../b?q#f").normalize()
                + java.net.URLEncoder.encode("a b&\u00fc", StandardCharsets.UTF_8);
    }
}
