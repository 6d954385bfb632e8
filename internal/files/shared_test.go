package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// sharedNodes returns two nodes that use one database with n players, whose profiles
// have the ids from 1 on.
func sharedNodes(t *testing.T, n int) (nodes [2]*Table, stores [2]records.Shared) {
	t.Helper()
	url := pgtest.Database(t)
	for i := range nodes {
		s := storetest.Database(t, url, fmt.Sprint("node", i))
		nodes[i], stores[i] = New(s, t.TempDir()), s
	}
	for i := range n {
		u := storage.User{Email: strings.Repeat("a", i+1) + "@b.c"}
		if _, _, err := stores[0].CreateUser(t.Context(), u, storage.Profile{Nick: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, stores
}

// contentOf returns the content of a file.
func contentOf(t *testing.T, table *Table, id storage.FileID) string {
	t.Helper()
	_, content, err := table.Open(t.Context(), id)
	if err != nil {
		t.Fatalf("Open(%d) = %v", id, err)
	}
	defer func() { _ = content.Close() }()
	got, err := io.ReadAll(content)
	if err != nil {
		t.Fatalf("content of file %d: %v", id, err)
	}
	return string(got)
}

func TestEveryNodeServesEveryFile(t *testing.T) {
	nodes, _ := sharedNodes(t, 2)
	contents := []string{
		"", "hello", strings.Repeat("x", storage.ContentPart), strings.Repeat("y", 2*storage.ContentPart+1), "hello",
	}
	var all []storage.File
	for i, content := range contents {
		all = append(all, put(t, nodes[i%2], storage.ProfileID(i%2+1), content))
	}
	for i, f := range all {
		for _, node := range nodes {
			if got := contentOf(t, node, f.ID); got != contents[i] {
				t.Errorf("file %d has %d bytes, want %d", f.ID, len(got), len(contents[i]))
			}
		}
	}
	for _, node := range nodes {
		if n := onDisk(t, node); n != 0 {
			t.Errorf("%d entries in a folder of uploads, want none", n)
		}
		if got, err := node.Sweep(t.Context()); err != nil || got != (Swept{}) {
			t.Errorf("Sweep() = %+v, %v, want nothing to do", got, err)
		}
	}
	if err := nodes[0].Delete(t.Context(), all[1].ID); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, nodes[0], all[4].ID); got != "hello" {
		t.Errorf("the other file with the content has %q", got)
	}
	if err := nodes[1].Delete(t.Context(), all[4].ID); err != nil {
		t.Fatal(err)
	}
	var left []string
	for c, err := range nodes[0].contents.all(t.Context()) {
		if err != nil || !c.Used || c.Hash == all[1].Hash {
			t.Errorf("content %+v, %v", c, err)
		}
		left = append(left, c.Hash)
	}
	if len(left) != 3 {
		t.Errorf("%d contents are left, want 3", len(left))
	}
}

func TestContentsOfDeletedAccountsAreSwept(t *testing.T) {
	nodes, stores := sharedNodes(t, 2)
	put(t, nodes[0], 1, "mine")
	kept := put(t, nodes[0], 2, "yours")
	if err := stores[1].DeleteUser(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	release := nodes[1].Hold()
	if got, err := nodes[1].Sweep(t.Context()); err != nil || got != (Swept{}) {
		t.Errorf("Sweep() while contents are held = %+v, %v, want nothing removed", got, err)
	}
	if err := release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, nodes[1], kept.ID); got != "yours" {
		t.Errorf("a content that is in use is %q", got)
	}
	if got, err := nodes[0].Sweep(t.Context()); err != nil || got != (Swept{}) {
		t.Errorf("Sweep() after the release = %+v, %v, want nothing left to do", got, err)
	}
}

// dropping is a store in which another node removes the content of each file before the
// file is stored.
type dropping struct {
	records.Shared
	t *testing.T
}

func (d dropping) CreateFile(ctx context.Context, f storage.File, owner, all storage.FileUsage) (storage.File, error) {
	if dropped, err := d.DropContent(ctx, f.Hash); !dropped || err != nil {
		d.t.Errorf("DropContent() = %v, %v, want the content to be dropped", dropped, err)
	}
	return d.Shared.CreateFile(ctx, f, owner, all)
}

func TestContentRemovedByAnotherNode(t *testing.T) {
	nodes, stores := sharedNodes(t, 1)
	table := New(dropping{stores[0], t}, t.TempDir())
	f := put(t, table, 1, "hello")
	if got := contentOf(t, nodes[1], f.ID); got != "hello" {
		t.Errorf("content %q, want it stored again", got)
	}
	if dropped, err := stores[1].DropContent(t.Context(), f.Hash); dropped || err != nil {
		t.Errorf("DropContent() of a content in use = %v, %v", dropped, err)
	}
}

// TestContentsMove copies contents from a folder to a shared store, and back by way of a
// pack.
func TestContentsMove(t *testing.T) {
	from, _ := opened(t, 1)
	nodes, stores := sharedNodes(t, 1)
	content := strings.Repeat("z", storage.ContentPart+5)
	f := put(t, from, 1, content)
	var size int64
	var progress bytes.Buffer
	begin := func(n int64) io.Writer {
		size = n
		return &progress
	}
	if n, err := from.CopyTo(t.Context(), nodes[0], begin); n != 1 || err != nil || size != int64(len(content)) || progress.String() != content {
		t.Errorf("CopyTo() = %d, %v, want 1; it said %d bytes and counted %d, want %d", n, err, size, progress.Len(), len(content))
	}
	if _, err := stores[0].CreateFile(t.Context(), f, DefaultLimits().Player, DefaultLimits().Total); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, nodes[1], 1); got != content {
		t.Errorf("the copy has %d bytes, want %d", len(got), len(content))
	}
	if n, err := from.CopyTo(t.Context(), nodes[0], begin); n != 0 || err != nil || size != 0 {
		t.Errorf("CopyTo() again = %d, %v with %d bytes, want 0", n, err, size)
	}
	var pack bytes.Buffer
	if empty, err := nodes[1].Pack(t.Context(), &pack); empty || err != nil {
		t.Fatalf("Pack() = %v, %v", empty, err)
	}
	again, _ := opened(t, 1)
	if err := again.Unpack(t.Context(), bytes.NewReader(pack.Bytes())); err != nil {
		t.Fatalf("Unpack() = %v", err)
	}
	if n := onDisk(t, again); n != 1 {
		t.Errorf("%d contents were unpacked, want 1", n)
	}
	bad := bytes.Replace(pack.Bytes(), []byte("zzzz"), []byte("zzzy"), 1)
	if err := again.Unpack(t.Context(), bytes.NewReader(bad)); !errors.Is(err, ErrPack) {
		t.Errorf("Unpack() of a damaged pack = %v, want ErrPack", err)
	}
	if entries, _ := filepath.Glob(filepath.Join(again.dir, partPrefix+"*")); len(entries) != 0 {
		t.Errorf("%v are left", entries)
	}
}

// TestContentsOfTheFolderAreAdopted checks that a shared store takes the contents of its
// files from the folder, and nothing else.
func TestContentsOfTheFolderAreAdopted(t *testing.T) {
	from, _ := opened(t, 1)
	nodes, stores := sharedNodes(t, 1)
	here := New(stores[0], filepath.Dir(from.dir))
	f, damaged := put(t, from, 1, "hello"), put(t, from, 1, "world")
	put(t, from, 1, "of another store")
	for _, f := range []storage.File{f, damaged} {
		if _, err := stores[0].CreateFile(t.Context(), f, DefaultLimits().Player, DefaultLimits().Total); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(from.dir, damaged.Hash), []byte("w0rld"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := here.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), damaged.Hash) || got != (Swept{Adopted: 1, Lost: 1}) {
		t.Errorf("Sweep() = %+v, %v, want one content adopted and the other reported", got, err)
	}
	if got := contentOf(t, nodes[1], 1); got != "hello" {
		t.Errorf("the content is %q", got)
	}
	if n := onDisk(t, from); n != 3 {
		t.Errorf("%d contents are left in the folder, want 3", n)
	}
	if got, _ := here.Sweep(t.Context()); got != (Swept{Lost: 1}) {
		t.Errorf("Sweep() again = %+v", got)
	}
}
