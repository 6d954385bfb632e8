package bolt

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"go.etcd.io/bbolt"
)

// pagesOf returns the pages of a kind in a file.
func pagesOf(t *testing.T, path, kind string) (ids []int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx *bbolt.Tx) error {
		for id := 0; ; id++ {
			p, err := tx.Page(id)
			if err != nil || p == nil {
				return err
			}
			if p.Type == kind {
				ids = append(ids, id)
			}
			id += p.OverflowCount
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// largeFile returns the content of a file whose games fill branches and leaves,
// and its branches.
func largeFile(t *testing.T) (content []byte, branches []int) {
	t.Helper()
	e := openLoose(t)
	for i := range 300 {
		if err := putRecord(e, "games", fmt.Sprintf("game%03d", i), make([]byte, 300)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	return content, pagesOf(t, e.path, "branch")
}

// A branch that leads back to itself would be followed for ever.
func TestPagesInACircleAreRefused(t *testing.T) {
	content, branches := largeFile(t)
	page := os.Getpagesize()
	for _, id := range branches {
		count := int(binary.NativeEndian.Uint16(content[id*page+10:]))
		for name, element := range map[string]int{"first": 0, "last": count - 1} {
			bad := append([]byte(nil), content...)
			binary.NativeEndian.PutUint64(bad[id*page+pageHeader+element*pageElement+8:], uint64(id))
			path := writeFile(t, bad)
			wantRestore(t, name+": Verify()", verifyFile(path), path)
			_, err := Open(t.Context(), path, testOptions())
			wantRestore(t, name+": Open()", err, path)
		}
	}
	if len(branches) == 0 {
		t.Fatal("the file has no branches")
	}
}

// A branch of another place, and a page that is used twice, are found too.
func TestWrongBranchesAreRefused(t *testing.T) {
	content, branches := largeFile(t)
	page := os.Getpagesize()
	id := branches[len(branches)-1]
	element := content[id*page+pageHeader:]
	for name, change := range map[string]func(bad []byte){
		"a child twice": func(bad []byte) {
			copy(bad[id*page+pageHeader+pageElement+8:][:8], element[8:16])
		},
		"a child beyond the end": func(bad []byte) {
			binary.NativeEndian.PutUint64(bad[id*page+pageHeader+8:], uint64(len(content)/page)+7)
		},
		"the page of the file's head": func(bad []byte) {
			binary.NativeEndian.PutUint64(bad[id*page+pageHeader+8:], 0)
		},
		"a child of another number": func(bad []byte) {
			child := binary.NativeEndian.Uint64(element[8:])
			binary.NativeEndian.PutUint64(bad[child*uint64(page):], child+1)
		},
	} {
		bad := append([]byte(nil), content...)
		change(bad)
		path := writeFile(t, bad)
		wantRestore(t, name+": Verify()", verifyFile(path), path)
		_, err := Open(t.Context(), path, testOptions())
		wantRestore(t, name+": Open()", err, path)
	}
}
