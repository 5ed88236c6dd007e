package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The sentences of comments and pages open with their subject, and name it. */
class PlainEnglishTest {
    private static final Pattern RELATIVE = Pattern.compile(
            "(?i)(who|whom|whose|whoever|what|whatever|which|whichever)\\b.*", Pattern.DOTALL);
    private static final Pattern NAMELESS = Pattern.compile("(?i).*\\b(some|no|any|every)body\\b.*", Pattern.DOTALL);
    /** A comment; or text between quotes, which is passed over. Lines of {@code //} that follow each other are one. */
    private static final Pattern COMMENT = Pattern.compile("\"\"\"[\\s\\S]*?\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\""
            + "|'(?:\\\\.|[^'\\\\\n])+'|/\\*[\\s\\S]*?\\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*");
    private static final Pattern INLINE_TAG = Pattern.compile("\\{@(?:return|code|link|linkplain|value)\\s+([^}]*)}");
    /** The end of a sentence, a paragraph, a cell or an item, or what stands before the text of a tag. */
    private static final Pattern END = Pattern.compile("(?<=[.!?:])\\s+(?=[A-Z`<(*])|\n\\s*\n|<(?:p|li|t[dh])>"
            + "|\\s@(?:param|throws)\\s+\\S+\\s|\\s@return\\s|\n(?=[-*#])|\\|");

    @Test
    void sentencesOpenWithTheirSubject() throws IOException {
        List<String> found = new ArrayList<>();
        int sentences = 0;
        for (String folder : List.of("src", "examples", "module-info", "docs", ".")) {
            try (Stream<Path> files = Files.walk(Path.of(folder), folder.equals(".") ? 1 : Integer.MAX_VALUE)) {
                for (Path file : (Iterable<Path>) files.sorted()::iterator) {
                    sentences += look(file, found);
                }
            }
        }
        assertTrue(sentences > 15_000, sentences + " sentences were found");
        assertEquals(0, found.size(), () -> found.size() + " of them:\n" + String.join("\n", found));
    }

    @Test
    void findsWhatItLooksFor() {
        assertEquals(2, hits("/** Who reads. */ String s = \"Who\"; // It ends. What follows\n// is nothing.").size());
        assertEquals(1, hits("/**\n * Ends.\n *\n * @return what {@code x} is\n */").size());
        assertEquals(1, hits("/** {@return the name} For anybody. */").size());
        assertEquals(0, hits("/** Asks who reads it, and what. */").size());
    }

    private static List<String> hits(String java) {
        List<String> found = new ArrayList<>();
        texts(java).forEach(text -> sentences(text, "", found));
        return found;
    }

    private static int look(Path file, List<String> found) throws IOException {
        String name = file.toString();
        if (!Files.isRegularFile(file) || name.contains("generated")) {
            return 0;
        }
        if (name.endsWith(".java")) {
            return texts(Files.readString(file)).stream().mapToInt(text -> sentences(text, name, found)).sum();
        }
        return !name.endsWith(".md") ? 0
                : sentences(Files.readString(file).replaceAll("```[\\s\\S]*?```", "\n\n"), name, found);
    }

    private static List<String> texts(String java) {
        List<String> texts = new ArrayList<>();
        Matcher comment = COMMENT.matcher(java);
        while (comment.find()) {
            String text = comment.group();
            if (text.startsWith("/")) {
                texts.add(INLINE_TAG.matcher(text.replaceAll("/\\*\\*?|\\*/|//", " ").replaceAll("\n[ \t]*\\*", "\n"))
                        .replaceAll("$1"));
            }
        }
        return texts;
    }

    /** How many sentences a text has; the bad ones are added. */
    private static int sentences(String text, String name, List<String> found) {
        int count = 0;
        for (String part : END.split(text)) {
            String sentence = part.replaceAll("\\s+", " ").replaceAll("^[ #*>-]+", "").strip();
            if (!sentence.isEmpty()) {
                count++;
            }
            if (RELATIVE.matcher(sentence).matches() && !sentence.endsWith("?")
                    || NAMELESS.matcher(sentence).matches()) {
                found.add(name + ": " + sentence);
            }
        }
        return count;
    }
}
