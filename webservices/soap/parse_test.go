package soap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// envelope puts the content of a Body into an Envelope as clients write it.
func envelope(body string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ns1="http://gamespy.net/sake">` +
		`<SOAP-ENV:Body>` + body + `</SOAP-ENV:Body></SOAP-ENV:Envelope>`
}

func TestParse(t *testing.T) {
	got, err := Parse([]byte(envelope(`<ns1:M><ns1:a>1</ns1:a><ns1:b/><ns1:c x='>' y=""> 2 </ns1:c ><d><e>3</e>tail</d></ns1:M>`)))
	want := &Element{Name: "M", Children: []*Element{
		{Name: "a", Value: "1"}, {Name: "b"}, {Name: "c", Value: " 2 "}, {Name: "d", Children: []*Element{{Name: "e", Value: "3"}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Parse(): %v, -want +got:\n%s", err, diff)
	}
	if n, ok := got.Int("a"); n != 1 || !ok || got.Text("missing") != "" || got.Child("d").Text("e") != "3" || got.Child("x").Child("y") != nil {
		t.Errorf("Int, Text, Child: %d, %t", n, ok)
	}
	if _, ok := got.Int("b"); ok {
		t.Error("Int of an empty element is a number")
	}
}

func TestParseTexts(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                        "plain",
		"a&amp;b&lt;c&gt;&quot;&apos;": `a&b<c>"'`,
		"h&#xc3;&#xa9;":                "hé", // one reference per byte
		"h&#xe9;":                      "hé", // one per character
		"h&#233;&#x20;x":               "hé x",
		"&#x20AC;":                     "€",
		"é":                            "é",
		"\xe9":                         "é", // Latin-1
		"&#x1;&#x01;\x02":              "\x01\x01\x02",
		"&bogus; & &#; &#x; &#xg; &":   "&bogus; & &#; &#x; &#xg; &",
		"&#xD800;":                     "\ufffd",
		"&#x110000;":                   "\ufffd",
		"&#99999999999;":               "&#99999999999;",
		"<![CDATA[<a>&amp;]]>x":        "<a>&amp;x",
		"a<!-- <b> -->c":               "ac",
	} {
		m, err := Parse([]byte(envelope("<M><a>" + text + "</a></M>")))
		if err != nil || m.Text("a") != want {
			t.Errorf("text %q: %q, %v, want %q", text, m.Text("a"), err, want)
		}
	}
}

func TestParseIgnoresTheRest(t *testing.T) {
	whole := envelope("<M><a>1</a></M>")
	for _, body := range []string{
		whole, whole + "\r\n\x00", whole + "<rest", "\xef\xbb\xbf" + whole, whole[:strings.Index(whole, "</M>")+len("</M>")],
		"<Envelope><Header><x>1</x></Header><Body><M><a>1</a></M>", "<e:Envelope>\n <Header/>\n <Body>\n <M><a>1</a></M>",
	} {
		if m, err := Parse([]byte(body)); err != nil || m.Name != "M" || m.Text("a") != "1" {
			t.Errorf("Parse(%q) = %v, %v", body, m, err)
		}
	}
}

func TestParseRejects(t *testing.T) {
	laughs := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>` + envelope("<M><a>&lol2;</a></M>")
	for name, test := range map[string]struct {
		body string
		want error
	}{
		"empty":              {"", ErrSyntax},
		"no XML":             {"GET / HTTP/1.1", ErrSyntax},
		"billion laughs":     {laughs, ErrDoctype},
		"DOCTYPE inside":     {envelope(`<M><!DOCTYPE x></M>`), ErrDoctype},
		"external entity":    {`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + envelope("<M>&x;</M>"), ErrDoctype},
		"no method":          {envelope(""), ErrNoMethod},
		"no Body":            {"<Envelope><Header></Header></Envelope>", ErrNoMethod},
		"empty Body":         {"<Envelope><Body/></Envelope>", ErrNoMethod},
		"other root":         {"<html><body></body></html>", ErrNoMethod},
		"cut in a name":      {strings.Split(envelope("<M><a>1</a></M>"), "a>1")[0], ErrSyntax},
		"wrong end":          {envelope("<M><a>1</b></M>"), ErrSyntax},
		"quote without end":  {envelope(`<M x="><a>1</a></M>`), ErrSyntax},
		"comment, no end":    {envelope(`<M><!-- `), ErrSyntax},
		"CDATA, no end":      {envelope(`<M><![CDATA[ `), ErrSyntax},
		"name too long":      {envelope("<" + strings.Repeat("a", MaxName+1) + ">"), ErrSyntax},
		"name empty":         {envelope("<M>< a/></M>"), ErrSyntax},
		"prefix alone":       {envelope("<M><a:/></M>"), ErrSyntax},
		"too deep":           {envelope(strings.Repeat("<a>", MaxDepth)), ErrTooDeep},
		"deep enough for us": {envelope(strings.Repeat("<a>", 1<<18)), ErrTooDeep},
		"too many elements":  {envelope("<M>" + strings.Repeat("<a/>", MaxElements) + "</M>"), ErrTooMany},
	} {
		if m, err := Parse([]byte(test.body)); !errors.Is(err, test.want) {
			t.Errorf("%s: Parse() = %v, %v, want %v", name, m, err, test.want)
		}
	}
}

func TestReply(t *testing.T) {
	got := string(Reply("M", "http://gamespy.net/sake", func(w *Writer) {
		w.Text("MResult", "Success")
		w.Open("values")
		w.Int("n", -5)
		w.Text("t", "a&b<c>\"'\u00e9\u20ac\x01\xff\x00")
		w.Close()
		w.Raw("<x />")
	}))
	want := `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soap:Body>` +
		`<MResponse xmlns="http://gamespy.net/sake"><MResult>Success</MResult><values><n>-5</n>` +
		"<t>a&amp;b&lt;c&gt;&quot;&apos;\u00e9\u20ac&#x1;&#xff;</t></values><x /></MResponse></soap:Body></soap:Envelope>"
	if got != want {
		t.Errorf("Reply() =\n%s\nwant\n%s", got, want)
	}
}

// FuzzParse checks that the result of Parse is bounded and can be written and read
// again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(envelope("<ns1:M><a>h&#xc3;&#xa9;&#x1;</a><b/><c><d>x</d></c></ns1:M>")))
	f.Add([]byte("<Envelope><Body><M><![CDATA[x]]><!-- --></M>"))
	f.Add([]byte("<!DOCTYPE a><Envelope>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Parse(body)
		if err != nil {
			return
		}
		elements := 0
		check(t, m, 3, &elements)
		var w Writer
		w.Raw("<Envelope><Body>")
		write(&w, m)
		again, err := Parse(w.b)
		if err != nil {
			t.Fatalf("Parse(%q): %v", w.b, err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("Parse(%q), -want +got:\n%s", w.b, diff)
		}
	})
}

// check checks the bounds of an element.
func check(t *testing.T, e *Element, depth int, elements *int) {
	t.Helper()
	if *elements++; *elements > MaxElements || depth > MaxDepth || len(e.Name) > 3*MaxName || e.Name == "" || !utf8.ValidString(e.Value) {
		t.Fatalf("element %q at depth %d, number %d, of %d bytes", e.Name, depth, *elements, len(e.Value))
	}
	for _, c := range e.Children {
		check(t, c, depth+1, elements)
	}
}

// write writes an element with its children; a zero in its text, which replies leave
// out, as a reference.
func write(w *Writer, e *Element) {
	w.Open(e.Name)
	for i, part := range strings.Split(e.Value, "\x00") {
		if i > 0 {
			w.Raw("&#x0;")
		}
		w.Raw(string(appendEscaped(nil, part)))
	}
	for _, c := range e.Children {
		write(w, c)
	}
	w.Close()
}

func BenchmarkParse(b *testing.B) {
	body := []byte(envelope("<ns1:M>" + strings.Repeat(fmt.Sprintf("<ns1:a>%s</ns1:a>", strings.Repeat("x", 40)), 8) + "</ns1:M>"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}
