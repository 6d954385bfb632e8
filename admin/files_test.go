package admin

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestFilePages(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	if _, err := operator.CreateAccount.Call(t.Context(), x.l, operator.NewAccount{Email: "a@b.c", Nick: "A", Password: "hunter2!"}); err != nil {
		t.Fatal(err)
	}
	f := putFile(t, x.l)
	p := b.get("/files?game=GMTEST")
	if !strings.Contains(p.body, "&lt;b&gt;.bin") || !strings.Contains(p.body, `href="/files/1/content"`) {
		t.Errorf("the page lacks the file:\n%s", p.body)
	}
	if p := b.get("/files?game=swat4"); strings.Contains(p.body, "/files/1/content") {
		t.Error("the page of another game has the file")
	}
	content := b.get("/files/1/content")
	h := content.header
	if content.body != "<script>x" || h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		t.Errorf("content %q with the header %v: a browser might run it", content.body, h)
	}
	b.wantDone(t, b.post("/files/delete", "id", "1"), "File 1 is deleted")
	if _, err := operator.GetFile.Call(t.Context(), x.l, operator.FileRef{ID: f.ID}); !errors.Is(err, storage.ErrDeleted) {
		t.Errorf("File() after deleting = %v, want ErrDeleted", err)
	}
	wantRefused(t, "deleted file", b.get("/files/1/content"), http.StatusNotFound, "file 1")
	wantRefused(t, "path as id", b.post("/files/delete", "id", "../1"), http.StatusBadRequest, "id")
}
