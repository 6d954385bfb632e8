package accounts

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "account.key")
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	register(t, openOver(t, store, Options{KeyFile: path}), alice())
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("mode = %v, want 0600", mode)
	}
	wantLogin(t, openOver(t, store, Options{KeyFile: path}), "after opening again", byNick("AliceU", "rosebud"))
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("files = %v, %v, want the store and the key", names, err)
	}
}

func TestKeyFileProblems(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "account.key")
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	register(t, openOver(t, store, Options{KeyFile: path}), alice())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), store, Options{KeyFile: path}); !errors.Is(err, ErrNoKey) {
		t.Errorf("Open() without the key of a store with accounts = %v, want ErrNoKey", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a new key file was made for a store with accounts")
	}
	for name, content := range map[string]string{
		"empty": "", "text": "hello", "half": string(good[:len(good)/2]), "no keys": `{"format":1,"active":1,"digest":"AAAA"}`,
		"newer":        strings.Replace(string(good), `"format":1`, `"format":2`, 1),
		"no active":    strings.Replace(string(good), `"active":1`, `"active":7`, 1),
		"huge":         strings.Repeat(" ", 64<<10+1),
		"short digest": strings.Replace(string(good), `"digest":"`, `"digest":"AAAA","x":"`, 1),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), store, Options{KeyFile: path})
		if !errors.Is(err, seal.ErrKeyFile) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open() = %v, want ErrKeyFile with the path", name, err)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), store, Options{KeyFile: path}); !errors.Is(err, seal.ErrKeyExposed) {
			t.Errorf("Open() of a key that others may read = %v, want ErrKeyExposed", err)
		}
	}
}

func TestAnotherKeyOpensNothing(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	register(t, openOver(t, store, Options{KeyFile: filepath.Join(dir, "a.key")}), alice())
	open(t, Options{KeyFile: filepath.Join(dir, "b.key")}) // of another store
	s := openOver(t, store, Options{KeyFile: filepath.Join(dir, "b.key")})
	if _, err := s.SignIn.CheckProof(t.Context(), byNick("AliceU", "rosebud")); !errors.Is(err, seal.ErrUnsealable) {
		t.Errorf("CheckProof() with another key = %v, want seal.ErrUnsealable", err)
	}
}

// spellings returns every encoding in which a password might have been stored.
func spellings(password string) map[string]string {
	sum := md5.Sum([]byte(password))
	lower := hex.EncodeToString(sum[:])
	all := map[string]string{
		"password": password, "raw md5": string(sum[:]), "md5": lower, "upper md5": strings.ToUpper(lower),
		"encoded for the wire": gamespy.EncodePassword(password),
	}
	for name, text := range map[string]string{"password": password, "raw md5": string(sum[:]), "md5": lower} {
		all[name+" in base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "=")
		all[name+" in base64 for URLs"] = strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(text)), "=")
		all[name+" in hex"] = hex.EncodeToString([]byte(text))
		// Inside a longer text base64 looks different at its beginning and end.
		for shift := range 3 {
			inside := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text + "x"))
			all[fmt.Sprintf("%s in base64, shifted by %d", name, shift)] = inside[4 : len(inside)-4]
		}
	}
	return all
}

func TestNoSecretLiesAbout(t *testing.T) {
	dir := t.TempDir()
	var logged bytes.Buffer
	opt := Options{KeyFile: filepath.Join(dir, "account.key"), KeepPasswords: true, Log: zerolog.New(&logged)}
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	s := openOver(t, store, opt)
	passwords := []string{"correct horse battery", "another rosebud 4711", "Tr0ub4dor&3"}
	p := register(t, s, func() Registration { r := alice(); r.Password = passwords[0]; return r }())
	var said []string
	for _, err := range []error{
		s.Profiles.RegisterCDKey(t.Context(), p.ID, "gmtest", "SECRETCDKEY12345"),
		s.Passwords.Change(t.Context(), p.User, passwords[1]),
		func() error { _, err := s.RotateKey(t.Context()); return err }(),
		s.Passwords.ChangeEmail(t.Context(), p.User, "new@example.com"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.SignIn.CheckProof(t.Context(), byNick("AliceU", passwords[2]))
	said = append(said, fmt.Sprint(err))
	_, err = s.Users.Register(t.Context(), Registration{Email: "new@example.com", Nick: "x", Password: passwords[2]})
	said = append(said, fmt.Sprint(err))
	wantLogin(t, s, "the right password", byNick("AliceU", passwords[1]))

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	contents := map[string][]byte{"log": logged.Bytes(), "errors": []byte(strings.Join(said, "\n"))}
	for _, path := range files {
		if contents[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for where, content := range contents {
		for _, password := range passwords {
			for how, text := range spellings(password) {
				if bytes.Contains(content, []byte(text)) {
					t.Errorf("%s holds the %s", where, how)
				}
			}
		}
		if bytes.Contains(bytes.ToUpper(content), []byte("SECRETCDKEY12345")) {
			t.Errorf("%s holds the CD key", where)
		}
	}
	if logged.Len() == 0 {
		t.Error("nothing was logged at all")
	}
}

// keysIn returns the ids of the keys in a key file.
func keysIn(t *testing.T, path string) (ids []uint32) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Keys []struct{ ID uint32 } }
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	for _, k := range f.Keys {
		ids = append(ids, k.ID)
	}
	return ids
}

func TestRotateKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "account.key")
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	s := openOver(t, store, Options{KeyFile: path, KeepPasswords: true})
	const n = 20
	for i := range n {
		r := alice()
		r.Email, r.UniqueNick = fmt.Sprintf("%d@b.c", i), fmt.Sprint("Name", i)
		register(t, s, r)
	}
	if _, err := s.Transfer.Import(t.Context(), Account{Email: "none@b.c", Profiles: []AccountProfile{{Profile: storage.Profile{Nick: "N"}}}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if got, err := s.RotateKey(t.Context()); got != n || err != nil {
			t.Fatalf("RotateKey() = %d, %v, want %d", got, err, n)
		}
		fresh := openOver(t, store, Options{KeyFile: path})
		if ids := keysIn(t, path); !slices.Equal(ids, []uint32{uint32(round + 2)}) {
			t.Errorf("round %d: the file has the keys %d", round, ids)
		}
		for i := range n {
			wantLogin(t, s, "in the running service", byNick(fmt.Sprint("Name", i), "rosebud"))
			wantLogin(t, fresh, "in a new one", byNick(fmt.Sprint("Name", i), "rosebud"))
		}
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	old := openOver(t, store, Options{KeyFile: path})
	if _, err := old.SignIn.CheckProof(t.Context(), byNick("Name1", "rosebud")); !errors.Is(err, seal.ErrUnsealable) {
		t.Errorf("CheckProof() with the key from before = %v, want seal.ErrUnsealable", err)
	}
}

// failing is a store whose UpdateUser fails from the n-th call on.
type failing struct {
	Store
	left atomic.Int64 // updates that succeed
}

var errDisk = errors.New("disk on fire")

func (f *failing) UpdateUser(ctx context.Context, u storage.User) (storage.User, error) {
	if f.left.Add(-1) < 0 {
		return storage.User{}, errDisk
	}
	return f.Store.UpdateUser(ctx, u)
}

func TestRotateKeyAfterFailure(t *testing.T) {
	const n = 5
	for broken := range n + 1 {
		dir := t.TempDir()
		path := filepath.Join(dir, "account.key")
		store := openStore(t, filepath.Join(dir, "respawnd.db"))
		first := openOver(t, store, Options{KeyFile: path})
		for i := range n {
			r := alice()
			r.Email, r.UniqueNick = fmt.Sprintf("%d@b.c", i), fmt.Sprint("Name", i)
			register(t, first, r)
		}
		breaks := &failing{Store: store}
		breaks.left.Store(int64(broken))
		s := openOver(t, breaks, Options{KeyFile: path})
		_, err := s.RotateKey(t.Context())
		if broken < n && !errors.Is(err, errDisk) {
			t.Errorf("RotateKey() that breaks off after %d = %v", broken, err)
		}
		// As after a crash: only the files are left.
		after := openOver(t, store, Options{KeyFile: path})
		for i := range n {
			wantLogin(t, after, fmt.Sprintf("account %d after %d", i, broken), byNick(fmt.Sprint("Name", i), "rosebud"))
		}
		if _, err := after.RotateKey(t.Context()); err != nil {
			t.Errorf("the next RotateKey() = %v", err)
		}
		last := openOver(t, store, Options{KeyFile: path})
		if ids := keysIn(t, path); len(ids) != 1 {
			t.Errorf("the keys %d are in the file at the end, want 1", ids)
		}
		for i := range n {
			wantLogin(t, last, "at the end", byNick(fmt.Sprint("Name", i), "rosebud"))
		}
	}
}

func TestAccountThatDoesNotOpenKeepsItsKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	s := open(t, Options{KeyFile: path})
	p := register(t, s, alice())
	bob := alice()
	bob.Email, bob.UniqueNick = "b@b.c", "Bob"
	register(t, s, bob)
	u, err := s.store.GetUser(t.Context(), p.User)
	if err != nil {
		t.Fatal(err)
	}
	u.Secret[len(u.Secret)-1] ^= 1
	if _, err := s.store.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	n, err := s.RotateKey(t.Context())
	if n != 1 || !errors.Is(err, seal.ErrUnsealable) || !strings.Contains(err.Error(), "user 1") {
		t.Errorf("RotateKey() = %d, %v, want 1 and seal.ErrUnsealable of user 1", n, err)
	}
	if ids := keysIn(t, path); len(ids) != 2 {
		t.Errorf("the keys %d are left, want both", ids)
	}
	wantLogin(t, s, "the other account", byNick("Bob", "rosebud"))
}

func TestRotationWhileEverythingGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	s := open(t, Options{KeyFile: path})
	const workers = 6
	for i := range workers {
		r := alice()
		r.Email, r.UniqueNick = fmt.Sprintf("%d@b.c", i), fmt.Sprint("Name", i)
		register(t, s, r)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			nick, password := fmt.Sprint("Name", i), "rosebud"
			prof, _, err := s.Profiles.ByUniqueNick(t.Context(), 1, nick)
			if err != nil {
				t.Error(err)
			}
			for n := range 50 {
				select {
				case <-stop:
					return
				default:
				}
				wantLogin(t, s, "during a rotation", byNick(nick, password))
				password = fmt.Sprint("password ", n)
				if err := s.Passwords.Change(t.Context(), prof.User, password); err != nil {
					t.Errorf("ChangePassword() during a rotation = %v", err)
				}
				r := alice()
				r.Email, r.UniqueNick = fmt.Sprintf("%d-%d@b.c", i, n), ""
				register(t, s, r)
			}
		})
	}
	for range 5 {
		if _, err := s.RotateKey(t.Context()); err != nil {
			t.Errorf("RotateKey() = %v", err)
		}
	}
	close(stop)
	wg.Wait()
	// The next process knows only the file.
	fresh := openOver(t, s.store, Options{KeyFile: path})
	for u, err := range s.store.Users(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fresh.secrets.digest(&u); err != nil {
			t.Errorf("user %d: %v", u.ID, err)
		}
	}
	if err := s.Keys.WhileFileStays(func() error { return errDisk }); !errors.Is(err, errDisk) {
		t.Errorf("WhileKeyStays() = %v, want what f returned", err)
	}
}
