package hostsfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// content returns the text of a file.
func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	const before = "127.0.0.1 localhost\n"
	if err := errors.Join(os.WriteFile(path, []byte(before), 0o600), os.Chmod(path, 0o640)); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	changed, backup, err := Update(path, set("gmtest", at, "a"))
	if err != nil || !changed || backup != path+backupSuffix {
		t.Fatalf("Update = %t, %q, %v", changed, backup, err)
	}
	if got := content(t, backup); got != before {
		t.Errorf("copy: %q, want %q", got, before)
	}
	if got := content(t, path); !strings.Contains(got, before) || !strings.Contains(got, "192.0.2.1 a "+Mark("gmtest")) {
		t.Errorf("file: %q", got)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 {
		t.Errorf("mode %v, %v, want 0640", info.Mode(), err)
	}

	// The copy stays that of the file before the first change.
	if changed, backup, err := Update(path, set("other", at, "b")); err != nil || !changed || backup != "" {
		t.Errorf("second Update = %t, %q, %v, want no copy", changed, backup, err)
	}
	if changed, _, err := Update(path, set("other", at, "b")); err != nil || changed {
		t.Errorf("Update without a change = %t, %v", changed, err)
	}
	if changed, _, err := Update(path, remove("")); err != nil || !changed || content(t, path) != before {
		t.Errorf("undone: %t, %v, %q, want %q", changed, err, content(t, path), before)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 2 {
		t.Errorf("files: %v, %v, want two", list, err)
	}
}

func TestUpdateFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hosts")
	if err := os.WriteFile(path, []byte("1.2.3.4 a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	errOwn := errors.New("no")
	big := func(f *File) error {
		f.lines = append(f.lines, strings.Repeat("#", MaxSize))
		return nil
	}
	meanwhile := func(f *File) error {
		f.Remove("")
		f.lines = append(f.lines, "#\n")
		return os.WriteFile(path, []byte("1.2.3.4 abc\n"), 0o644)
	}
	for name, tc := range map[string]struct {
		path string
		edit func(*File) error
		want error
	}{
		"missing":       {filepath.Join(dir, "none"), remove(""), fs.ErrNotExist},
		"refused":       {path, func(*File) error { return errOwn }, errOwn},
		"too large":     {path, big, ErrTooLarge},
		"another wrote": {path, meanwhile, ErrChanged},
	} {
		if _, _, err := Update(tc.path, tc.edit); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if got := content(t, path); got != "1.2.3.4 abc\n" {
		t.Errorf("file: %q, want what the other wrote", got)
	}
	if _, _, err := Update(dir, remove("")); err == nil {
		t.Error("a folder was edited")
	}
	if left, err := filepath.Glob(path + ".respawnd-*"); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUpdateThroughLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real"), filepath.Join(dir, "hosts")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip("this system makes no symbolic links: ", err)
	}
	if _, _, err := Update(link, set("gmtest", at, "a")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if !strings.Contains(content(t, path), Mark("gmtest")) {
		t.Error("the file behind the link did not change")
	}
}

func TestPath(t *testing.T) {
	if want := map[bool]string{true: `\hosts`, false: "/etc/hosts"}[runtime.GOOS == "windows"]; !strings.HasSuffix(Path(), want) {
		t.Errorf("Path() = %q, want one that ends in %q", Path(), want)
	}
}
