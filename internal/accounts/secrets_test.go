package accounts

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/storage"
)

func TestSealIsBoundToItsAccount(t *testing.T) {
	s := open(t, Options{}).secrets
	u := storage.User{Partner: 1, Email: "A@b.c"}
	s.setDigest(&u, []byte("secret"))
	if got, err := s.open(kindDigest, &storage.User{Partner: 1, Email: "a@B.C"}, u.Secret); err != nil || string(got) != "secret" {
		t.Errorf("open() = %q, %v", got, err)
	}
	for name, tt := range map[string]struct {
		kind string
		u    storage.User
	}{
		"another e-mail":  {kindDigest, storage.User{Partner: 1, Email: "b@b.c"}},
		"another partner": {kindDigest, storage.User{Email: "a@b.c"}},
		"another kind":    {kindPassword, u},
	} {
		if got, err := s.open(tt.kind, &tt.u, u.Secret); !errors.Is(err, seal.ErrUnsealable) {
			t.Errorf("%s: open() = %q, %v, want ErrUnsealable", name, got, err)
		}
	}
}

// TestStoredBytes reads what an earlier release stored with a known key file.
func TestStoredBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	text := `{"format":1,"active":7,"keys":[{"id":7,"key":"` + key + `"}],"digest":"` + key + `"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{KeyFile: path})
	u := storage.User{
		ID: 5, Partner: 3, Email: "Ann@Example.org", Passwords: 1,
		Secret:   decode(t, "AQAAAAdoFecptH1yJxU//6xBVeoDffWZ7qNywnI6IfeLwHdjOK9zF+46wjrLjlSm6g=="),
		Password: decode(t, "AQAAAAdl+p6ZmZpb5hsJb816Lt0tjNZxQDJ1qrMItPm3TWsatuaW2Q=="),
	}
	digest, err := s.secrets.digest(&u)
	password, err2 := s.secrets.password(&u)
	if digest != secretOf("rosebud") || password != "rosebud" || err != nil || err2 != nil {
		t.Errorf("password %q with digest %q, %v, %v", password, digest, err, err2)
	}
	mac, err := s.Passwords.resetMAC(&u, []byte("01234567"))
	if err != nil || !bytes.Equal(mac, decode(t, "gxbOf0D4dBVcnzfVDmQKnM3zv5XrKfGklH8Yig==")) {
		t.Errorf("resetMAC() = %x, %v", mac, err)
	}
	cdKey, err := s.secrets.cdKeyRecord("gmtest", "aaaabbbb", "AAAA-BBBB")
	if err != nil || cdKey.Digest != "74fRvH20HmRxXmjB8paCXnDnDm4jJND3SQx4VkSXmG0" || cdKey.Hash != "LpXXbOSqV8pHBm_M5bMwQF4mn495no5e7zQEhj63DJk" {
		t.Errorf("record of a CD key = %+v, %v", cdKey, err)
	}
	cdKey.Sealed = decode(t, "AW1HkB4uAt/M6HqObcJBwJqqTmPnXt6R9GSPinbItujQMVf23z8=")
	if plain, err := s.secrets.cdKey(&cdKey); plain != "AAAA-BBBB" || err != nil {
		t.Errorf("CD key = %q, %v", plain, err)
	}
	for from, want := range map[string]uint64{"192.0.2.1": 473920579617967489, "2001:db8::1": 10674464310339546104} {
		if got := s.guard.homeMark(netip.MustParseAddr(from), 5); got != want {
			t.Errorf("homeMark(%s) = %d, want %d", from, got, want)
		}
	}
	if got := s.Keys.Fingerprint(); got != "8c18866838c31ea4" {
		t.Errorf("Fingerprint() = %s", got)
	}
}

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
