package webtest

import (
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Parse reads a page.
func Parse(t *testing.T, page string) *nethtml.Node {
	t.Helper()
	doc, err := nethtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatalf("the page is not HTML: %v", err)
	}
	return doc
}

// Elements returns the elements of a kind below n.
func Elements(n *nethtml.Node, a atom.Atom) (found []*nethtml.Node) {
	for d := range n.Descendants() {
		if d.DataAtom == a {
			found = append(found, d)
		}
	}
	return found
}

// Content returns the text below n.
func Content(n *nethtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == nethtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// Visible is Content without buttons, and with flags as the names of their countries.
func Visible(n *nethtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch inside := d.Parent; {
		case d.Type == nethtml.ElementNode && Attribute(d, "role") == "img":
			b.WriteString("(" + Attribute(d, "aria-label") + ")")
		case d.Type != nethtml.TextNode || inside.DataAtom == atom.Button || Attribute(inside, "role") == "img":
		default:
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// Attribute returns an attribute of n, empty if it has none.
func Attribute(n *nethtml.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// CheckFit checks the mechanical rules for a page: a language, a title,
// landmarks, one heading of the first rank, a label for each field, a caption for
// each table, no id twice.
func CheckFit(t *testing.T, page string) {
	t.Helper()
	doc := Parse(t, page)
	for a, want := range map[atom.Atom]int{atom.H1: 1, atom.Main: 1, atom.Header: 1, atom.Footer: 1} {
		if got := len(Elements(doc, a)); got != want {
			t.Errorf("%d elements %s, want %d", got, a, want)
		}
	}
	if titles := Elements(Elements(doc, atom.Head)[0], atom.Title); len(titles) != 1 || Content(titles[0]) == "" {
		t.Errorf("%d titles, want one with text", len(titles))
	}
	ids, labels := map[string]bool{}, map[string]bool{}
	for n := range doc.Descendants() {
		id := Attribute(n, "id")
		if id != "" && ids[id] {
			t.Errorf("two elements have the id %s", id)
		}
		ids[id] = true
		if n.DataAtom == atom.Label {
			labels[Attribute(n, "for")] = true
		}
	}
	for _, n := range append(Elements(doc, atom.Input), Elements(doc, atom.Select)...) {
		if Attribute(n, "type") != "hidden" && !labels[Attribute(n, "id")] {
			t.Errorf("field %s has no label", Attribute(n, "name"))
		}
	}
	for _, n := range Elements(doc, atom.Table) {
		if len(Elements(n, atom.Caption)) != 1 {
			t.Error("a table has no caption")
		}
	}
	for _, n := range Elements(doc, atom.A) {
		if Content(n) == "" || Attribute(n, "href") == "" {
			t.Error("a link leads nowhere or has no text")
		}
	}
	for n := range doc.Descendants() {
		for _, name := range []string{"aria-labelledby", "aria-describedby"} {
			if to := Attribute(n, name); to != "" && !ids[to] {
				t.Errorf("%s of %s names %s, which is not there", name, n.Data, to)
			}
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "tabindex" && a.Val != "0" && a.Val != "-1" {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
}

// WantParts fails for parts that a page lacks.
func WantParts(t *testing.T, what, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, page)
		}
	}
}

// WantNoParts fails for parts that a page has.
func WantNoParts(t *testing.T, what, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(page, part) {
			t.Errorf("%s has %q", what, part)
		}
	}
}
