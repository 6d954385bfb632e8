package games

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/test/rig"
)

// formBoundary is that of the uploads of games.
const formBoundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// uploadRequest is the upload of a content by a profile.
func uploadRequest(profile, content string) string {
	body := "--" + formBoundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"f.bin\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n" + content + "\r\n--" + formBoundary + "--\r\n"
	return rig.WebHead("POST", "gmtest.sake.gamespy.com", "/SakeFileServer/upload.aspx?gameid=0&pid="+profile, len(body),
		"Content-Type: multipart/form-data; boundary="+formBoundary+"\r\n") + body
}

func downloadRequest(id string) string {
	return rig.WebHead("GET", "gmtest.sake.gamespy.com", "/SakeFileServer/download.aspx?fileid="+id+"&gameid=0&pid=1", -1, "")
}

// contents returns the names in the folder of contents of a data folder.
func contents(t *testing.T, dir string) (hashes, parts int) {
	t.Helper()
	for _, name := range rig.Names(t, filepath.Join(dir, files.Folder)) {
		if len(name) == 64 {
			hashes++
		} else {
			parts++
		}
	}
	return hashes, parts
}

// Files survive a daemon that is killed in the middle of an upload, and a restored
// backup; an upload that was not acknowledged leaves nothing behind.
func TestFilesOfPlayers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartChild(t, dir)
	rig.Typed(t, d.CliEnv(), rig.StormPassword, "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, uploadRequest("1", "hello")), "HTTP/1.1 200 OK\r\n", "\r\nSake-File-Result: 6\r\n")
	ann := rig.SignedIn(t, &d.Running, "uniquenick", "Ann")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, uploadRequest(ann.Profile, "hello")), "HTTP/1.1 200 OK\r\n", "\r\nSake-File-Result: 0\r\n", "\r\nSake-File-Id: 1\r\n")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, uploadRequest(ann.Profile, strings.Repeat("x", 10<<20))), "\r\nSake-File-Result: 5\r\n")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, downloadRequest("../1")), "\r\nSake-File-Result: 3\r\n")

	cut := rig.DialWeb(t, &d.Running) // the daemon is killed with half of this upload on the disk
	whole := uploadRequest(ann.Profile, strings.Repeat("y", 1<<20))
	_, err := io.WriteString(cut, whole[:len(whole)/2])
	rig.Must(t, err)
	awaitPart(t, dir)
	d.Kill()
	d = rig.StartChild(t, dir)
	d.WaitFor("sweep", 0, rig.Message("removed contents that belong to no file"))
	if hashes, parts := contents(t, dir); hashes != 1 || parts != 0 {
		t.Errorf("%d contents and %d parts of uploads after the start, want the one that was acknowledged", hashes, parts)
	}
	rig.WantIn(t, rig.AskWeb(t, &d.Running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	rig.WantIn(t, rig.AskWeb(t, &d.Running, downloadRequest("2")), "\r\nSake-File-Result: 4\r\n")

	saved, copied := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "copy")
	rig.WantIn(t, d.Cli("files", "list", "GMTEST"), "gmtest  1", "f.bin")
	rig.WantIn(t, d.Cli("files", "show", "1"), "bytes: 5\n", "profile: 1\n")
	rig.WantIn(t, d.Cli("files", "get", "1", copied), "5 bytes")
	if got := rig.ReadFile(t, copied); got != "hello" {
		t.Errorf("files get wrote %q", got)
	}
	d.Cli("backup", saved)
	rig.WantIn(t, d.Cli("files", "delete", "--yes", "1"), "deleted file 1")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"files", "show", "1"}, "file 1")
	rig.Refused(t, commands.ExitUsage, d.CliEnv(), []string{"files", "get", "../1", copied}, "not the id of a file")
	if hashes, _ := contents(t, dir); hashes != 0 {
		t.Error("the content is still there after its file was deleted")
	}
	rig.WantIn(t, d.Cli("audit"), "file.delete")
	d.Kill()

	env := rig.TestEnv(dir)
	rig.Cli(t, env, "restore", saved)
	rig.WantIn(t, rig.Cli(t, env, "files", "list"), "gmtest  1")
	rig.WantIn(t, rig.Cli(t, env, "files", "get", "1", copied), "5 bytes")
	d = rig.StartChild(t, dir)
	rig.WantIn(t, rig.AskWeb(t, &d.Running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	rig.WantIn(t, d.Cli("account", "delete", "--yes", "Ann@example.com"), "account 1")
	if hashes, _ := contents(t, dir); hashes != 0 {
		t.Error("the content is still there after its player was deleted")
	}
}

// awaitPart waits until an upload has half a megabyte on the disk, or more.
func awaitPart(t *testing.T, dir string) {
	t.Helper()
	part := regexp.MustCompile(`^\.upload-`)
	for end := time.Now().Add(rig.Hang); time.Now().Before(end); runtime.Gosched() {
		for _, name := range rig.Names(t, filepath.Join(dir, files.Folder)) {
			if info, err := os.Stat(filepath.Join(dir, files.Folder, name)); err == nil && part.MatchString(name) && info.Size() >= 400_000 {
				return
			}
		}
	}
	t.Fatal("no part of an upload is on the disk")
}
