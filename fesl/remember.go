package fesl

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

// Tokens with which a client signs in again without the password. They end with the
// password.
const (
	tokenLife = 90 * 24 * time.Hour
	tokenHead = 12 // bytes: user, expiry
)

// tokenText is the encoding of tokens.
var tokenText = base64.URLEncoding.WithPadding('.')

// remember returns a token for an account.
func (s *Server) remember(u *storage.User, now time.Time) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(u.ID))
	head = binary.BigEndian.AppendUint64(head, uint64(now.Add(tokenLife).Unix()))
	return tokenText.EncodeToString(append(head, s.tokenMAC(u, head)...))
}

// tokenMAC returns the end of a token. It depends on the number of the password, and on the
// nanosecond in which the account was made, so that the key file alone is not enough to
// make one.
func (s *Server) tokenMAC(u *storage.User, head []byte) []byte {
	text := append([]byte("fesl sign-in\x00"), head...)
	text = binary.BigEndian.AppendUint32(text, u.Passwords)
	text = binary.BigEndian.AppendUint64(text, uint64(u.Created.UnixNano()))
	return s.opt.Accounts.Keys.MAC(text)
}

// remembered returns the account of a token.
func (x *session) remembered(ctx context.Context, token string, now time.Time) (storage.User, error) {
	raw, err := tokenText.DecodeString(strings.ReplaceAll(token, "=", "."))
	if err != nil || len(raw) < tokenHead || uint64(now.Unix()) >= binary.BigEndian.Uint64(raw[4:]) {
		return storage.User{}, accounts.ErrBadTicket
	}
	u, err := x.server.opt.Store.GetUser(ctx, storage.UserID(binary.BigEndian.Uint32(raw)))
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDeleted) {
		return u, accounts.ErrBadTicket
	}
	if err != nil {
		return u, err
	}
	switch {
	case !hmac.Equal(raw[tokenHead:], x.server.tokenMAC(&u, raw[:tokenHead])):
		return u, accounts.ErrBadTicket
	case u.Ban.In(now):
		return u, accounts.ErrBanned
	}
	return u, nil
}
