import java.lang.foreign.AddressLayout;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Puts constants into jextract's output: offsets and sizes are numbers, and a layout is made only for who asks for it.
 * Else a starting JVM makes the layouts of all structs that one of those it needs can lead to, which takes it longer
 * than to connect. {@code java -cp CLASSES Constants.java SOURCES}: the classes are those of the sources.
 */
class Constants {
    private static final Pattern TYPE = Pattern.compile("( *)public (?:static )?class (\\w+) (?:extends \\w+ )?\\{");
    private static final Pattern LAYOUT = Pattern.compile(" *private static final GroupLayout \\$LAYOUT = (.*)");
    private static final Pattern FIELD = Pattern.compile(
            " *private static final \\w+ (\\w+)\\$LAYOUT = (\\(\\w+\\))(\\$LAYOUT\\.select\\(.*\\);)");
    private static final Pattern DROPPED = Pattern.compile(" *private static final VarHandle \\w+\\$ELEM_HANDLE = .*");
    private static final Pattern OFFSET = Pattern.compile("(\\w+)\\$OFFSET = \\$LAYOUT\\.byteOffset\\(.*\\);");
    private static final Pattern SIZE = Pattern.compile("(\\w+)\\$LAYOUT\\.byteSize\\(\\)");
    private static final Pattern GET = Pattern.compile("(\\w+)\\.get\\((\\w+)\\$LAYOUT, (\\w+\\$OFFSET)\\)");
    private static final Pattern SET = Pattern.compile(
            "(\\w+)\\.set\\((\\w+)\\$LAYOUT, (\\w+\\$OFFSET), (fieldValue)\\)");
    private static final Pattern GET_ELEMENT = Pattern.compile(
            "\\(\\w+\\)(\\w+)\\$ELEM_HANDLE\\.get\\((\\w+), (\\w+\\$OFFSET), index0\\)");
    private static final Pattern SET_ELEMENT = Pattern.compile(
            "(\\w+)\\$ELEM_HANDLE\\.set\\((\\w+), (\\w+\\$OFFSET), index0, fieldValue\\)");
    private static final Pattern C_TYPE = Pattern.compile(
            "\\(ValueLayout\\.Of(\\w+)\\) ?Linker\\.nativeLinker\\(\\)\\.canonicalLayouts\\(\\)\\.get\\(\"[^\"]+\"\\)");
    private static final String C_POINTER = "((AddressLayout) Linker.nativeLinker().canonicalLayouts().get(\"void*\"))";

    /** A struct or union that is being read, or the class of a header, which has no layout. */
    private static final class Type {
        private final Class<?> type;
        private final String end;
        /** Java text that makes the layout, and texts that make those of fields from it. */
        private final StringBuilder layout = new StringBuilder();
        private final Map<String, String> fields = new HashMap<>();

        Type(Class<?> type, String indent) {
            this.type = type;
            this.end = indent + "}";
        }

        MemoryLayout layout(String method) {
            try {
                Method found = type.getDeclaredMethod(method);
                found.setAccessible(true);
                return (MemoryLayout) found.invoke(null);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(type + " has no " + method, e);
            }
        }

        MemoryLayout field(String name) {
            return layout(name + "$layout");
        }

        long offset(String name) throws ReflectiveOperationException {
            Method found = type.getDeclaredMethod(name + "$offset");
            found.setAccessible(true);
            return (long) found.invoke(null);
        }
    }

    private final Deque<Type> types = new ArrayDeque<>();
    private final StringBuilder out = new StringBuilder();

    public static void main(String[] arguments) throws Exception {
        try (var files = Files.list(Path.of(arguments[0]))) {
            for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
                if (!file.endsWith("package-info.java")) {
                    Files.writeString(file, new Constants().rewrite(Files.readString(file)));
                }
            }
        }
    }

    private String rewrite(String text) throws Exception {
        String folder = text.replaceFirst("(?s).*?\\bpackage ([\\w.]+);.*", "$1.");
        boolean dropping = false;
        boolean layouts = false;
        for (String line : withoutLibrary(text).split("\n", -1)) {
            Matcher begun = TYPE.matcher(line);
            if (begun.matches()) {
                String outer = types.isEmpty() ? folder : types.peek().type.getName() + "$";
                types.push(new Type(Class.forName(outer + begun.group(2)), begun.group(1)));
            }
            Matcher layout = LAYOUT.matcher(line);
            Matcher field = FIELD.matcher(line);
            if (layouts) {
                types.peek().layout.append('\n').append(line);
                layouts = !line.endsWith(";");
                dropping = true;
            } else if (layout.matches()) {
                types.peek().layout.append(layout.group(1));
                layouts = true;
            } else if (field.matches()) {
                types.peek().fields.put(field.group(1), field.group(2) + field.group(3).replace("$LAYOUT", "layout()"));
                dropping = true;
            } else if (DROPPED.matcher(line).matches()) {
                dropping = false;
            } else if (!dropping || !line.isBlank()) {
                dropping = false;
                out.append(types.isEmpty() || line.matches(" *(\\*|/\\*).*") ? line : rewriteLine(line)).append('\n');
            }
            if (!types.isEmpty() && line.equals(types.peek().end)) {
                types.pop();
            }
        }
        out.setLength(out.length() - 1);
        return out.toString();
    }

    /** A class without functions needs no library. */
    private static String withoutLibrary(String text) {
        return text.contains("SYMBOL_LOOKUP.find") ? text : text.replaceFirst(
                "(?s)\\n *static final Arena LIBRARY_ARENA =.*?\\n *static final SymbolLookup SYMBOL_LOOKUP =.*?;\\n", "");
    }

    private String rewriteLine(String line) throws ReflectiveOperationException {
        Type type = types.peek();
        if (type.layout.isEmpty()) {
            return replace(C_TYPE, line, m -> "JAVA_" + m.group(1).toUpperCase(Locale.ROOT)).replace(C_POINTER, "ADDRESS");
        }
        String made = line.replace("return $LAYOUT;", "return " + type.layout);
        for (Map.Entry<String, String> field : type.fields.entrySet()) {
            made = made.replace("return " + field.getKey() + "$LAYOUT;", "return " + field.getValue());
        }
        Matcher offset = OFFSET.matcher(made);
        if (offset.find()) {
            return offset.replaceFirst("$1\\$OFFSET = " + type.offset(offset.group(1)) + "L;");
        }
        MemoryLayout whole = type.layout("layout");
        String size = whole.byteSize() + "L";
        made = made.replace("allocate(layout())", "allocate(" + size + ", " + whole.byteAlignment() + "L)")
                .replace("allocate(MemoryLayout.sequenceLayout(elementCount, layout()))",
                        "allocate(" + size + " * elementCount, " + whole.byteAlignment() + "L)")
                .replace("layout().byteSize()", size);
        made = SIZE.matcher(made).replaceAll(m -> type.field(m.group(1)).byteSize() + "L");
        made = replace(GET, made, m -> get(m.group(1), type.field(m.group(2)), m.group(3)));
        made = replace(SET, made, m -> set(m.group(1), type.field(m.group(2)), m.group(3)));
        made = replace(GET_ELEMENT, made, m -> get(m.group(2), element(type, m), index(type, m)));
        return replace(SET_ELEMENT, made, m -> set(m.group(2), element(type, m), index(type, m)));
    }

    private static String replace(Pattern what, String text, Function<MatchResult, String> by) {
        return what.matcher(text).replaceAll(by.andThen(Matcher::quoteReplacement));
    }

    private static MemoryLayout element(Type type, MatchResult access) {
        return ((SequenceLayout) type.field(access.group(1))).elementLayout();
    }

    private static String index(Type type, MatchResult access) {
        return access.group(3) + " + " + element(type, access).byteSize() + "L * index0";
    }

    /** A pointer is read and written as a number: address layouts need more of the interpreter. */
    private static String get(String memory, MemoryLayout field, String offset) {
        return field instanceof AddressLayout
                ? "MemorySegment.ofAddress(" + memory + ".get(JAVA_LONG, " + offset + ")).reinterpret(Long.MAX_VALUE)"
                : memory + ".get(" + name(field) + ", " + offset + ")";
    }

    private static String set(String memory, MemoryLayout field, String offset) {
        return field instanceof AddressLayout ? memory + ".set(JAVA_LONG, " + offset + ", fieldValue.address())"
                : memory + ".set(" + name(field) + ", " + offset + ", fieldValue)";
    }

    private static String name(MemoryLayout field) {
        ValueLayout value = (ValueLayout) field;
        if (value.byteAlignment() != value.byteSize() || value.order() != ByteOrder.nativeOrder()) {
            throw new IllegalStateException(field + " is not as the processor has it");
        }
        return "JAVA_" + value.carrier().getName().toUpperCase(Locale.ROOT);
    }
}
