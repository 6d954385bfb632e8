package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// stormPassword is the password of all accounts of the storm; it must not be
// found anywhere in the data folder.
const stormPassword = "Kx7-storm-Passwd"

// askSearch sends one request of account search and returns the answer up to its end.
func askSearch(ctx context.Context, at netip.AddrPort, request string) (string, error) {
	ctx = netclient.Bound(ctx, hang)
	conn, err := netclient.DialTCP(ctx, at.String())
	if err != nil {
		return "", err
	}
	c := gpsp.NewClient(conn)
	defer func() { _ = c.Close() }()
	if err := c.SendText(request); err != nil {
		return "", err
	}
	answer, err := c.Next(ctx)
	return answer + gamespy.Final, err
}

// newUser creates an account as a game does and returns the id of its profile,
// "" if it was not acknowledged.
func newUser(ctx context.Context, at netip.AddrPort, name string) (id string) {
	answer, err := askSearch(ctx, at, newUserRequest(name))
	if err != nil || !strings.HasPrefix(answer, `\nur\0\pid\`) {
		return ""
	}
	return field(answer, "pid")
}

func newUserRequest(name string) string {
	return fmt.Sprintf(
		`\newuser\\nick\%s\email\%s@example.com\passenc\%s\productID\1\namespaceid\1\uniquenick\%s\partnerid\0\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(stormPassword), name)
}

// wantNoPassword fails if a file of the folder holds the password or its MD5 in
// any usual form.
func wantNoPassword(t *testing.T, dir string) {
	t.Helper()
	sum := md5.Sum([]byte(stormPassword))
	forms := map[string][]byte{
		"the password":           []byte(stormPassword),
		"the password in base64": []byte(base64.StdEncoding.EncodeToString([]byte(stormPassword))),
		"the encoded password":   []byte(gamespy.EncodePassword(stormPassword)),
		"its MD5":                sum[:],
		"its MD5 in hex":         []byte(hex.EncodeToString(sum[:])),
		"its MD5 in upper hex":   []byte(strings.ToUpper(hex.EncodeToString(sum[:]))),
		"its MD5 in base64":      []byte(base64.StdEncoding.EncodeToString(sum[:])),
	}
	for _, name := range names(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for what, form := range forms {
			if bytes.Contains(b, form) {
				t.Errorf("%s holds %s", name, what)
			}
		}
	}
}
