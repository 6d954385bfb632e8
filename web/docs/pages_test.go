package docs

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var update = flag.Bool("update", false, "render the pages of docs/ into templates/")

// render returns a page as a template. name is its path below docs, served holds the
// paths of all that are served.
func render(t *testing.T, name string, source []byte, served map[string]bool) string {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	tree := md.Parser().Parse(text.NewReader(source))
	var unserved []*ast.Link
	var pictures []ast.Node // paragraphs of one picture: they are not part of the program
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, ok := n.(*ast.Image); ok && entering {
			pictures = append(pictures, n.Parent())
		}
		link, ok := n.(*ast.Link)
		if !ok || !entering || strings.Contains(string(link.Destination), "://") {
			return ast.WalkContinue, nil
		}
		file, anchor, anchored := strings.Cut(string(link.Destination), "#")
		switch target := path.Join(path.Dir(name), file); {
		case file == "":
		case !served[target]:
			unserved = append(unserved, link)
		default:
			file = strings.TrimSuffix(file, ".md")
			if target == index+".md" {
				file = strings.TrimSuffix(file, index)
			}
			if anchored {
				file += "#" + anchor
			}
			link.Destination = []byte(file)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range unserved {
		for c := link.FirstChild(); c != nil; c = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, c)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
	for _, p := range pictures {
		p.Parent().RemoveChild(p.Parent(), p)
	}
	var b bytes.Buffer
	if err := errors.Join(err, md.Renderer().Render(&b, source, tree)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	body := strings.NewReplacer( // what scrolls is reached with the keyboard
		"<table>", "<div class=\"wide\" tabindex=\"0\"><table>", "</table>", "</table></div>", "<pre>", "<pre tabindex=\"0\">").Replace(b.String())
	if strings.Contains(body, "{{") || !strings.HasPrefix(body, "<h1 ") {
		t.Errorf("%s: want a heading first and no double braces, which mean something in templates", name)
	}
	up := ""
	if name != index+".md" {
		up = "<p class=\"path\"><a href=\"{{.Base}}" + Path + "\">Help</a></p>\n"
	}
	return "{{define \"content\"}}" + up + "<article class=\"doc\">\n" + body + "</article>{{end}}\n"
}

// sources returns the pages of docs/ that are served, by their path below it.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	root := os.DirFS(filepath.Join("..", "..", "docs"))
	pages := make(map[string][]byte)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name == "contributing":
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		data, err := fs.ReadFile(root, name)
		pages[name] = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestPages compares the served pages with the Markdown files.
func TestPages(t *testing.T) {
	pages := sources(t)
	served := make(map[string]bool, len(pages))
	for name := range pages {
		served[name] = true
	}
	if *update {
		if err := os.RemoveAll("templates"); err != nil {
			t.Fatal(err)
		}
	}
	for name, source := range pages {
		file := path.Join("templates", strings.TrimSuffix(name, ".md")+".html")
		want := render(t, name, source, served)
		if *update {
			if err := errors.Join(os.MkdirAll(path.Dir(file), 0o755), os.WriteFile(file, []byte(want), 0o644)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := files.ReadFile(file)
		if diff := cmp.Diff(strings.ReplaceAll(string(got), "\r\n", "\n"), want); diff != "" || err != nil {
			t.Errorf("%s, -is +should be (make docs writes it): %v\n%s", file, err, diff)
		}
	}
	err := fs.WalkDir(files, "templates", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !served[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")+".md"] && !*update {
			t.Errorf("%s is no page of docs/ (make docs removes it)", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestIndex checks that the first page leads to every other one.
func TestIndex(t *testing.T) {
	pages := sources(t)
	for name := range pages {
		if name != index+".md" && !bytes.Contains(pages[index+".md"], []byte("]("+name+")")) {
			t.Errorf("docs/%s.md has no link to %s", index, name)
		}
	}
}
