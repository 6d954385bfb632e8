package snapshot

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

// IndexName is the file that readers begin with, ServersName that of all servers under the name
// that stays.
const (
	IndexName   = "index.txt"
	ServersName = "servers.json"
)

// MaxIndex is the greatest size of an index in bytes, MaxServers that of the file of all servers.
const (
	MaxIndex   = 4 << 20
	MaxServers = 256 << 20
)

// head begins an index.
const head = "respawnd-list 1 "

// Errors of readers.
var (
	ErrIndex     = errors.New("not the index of a snapshot")
	ErrSignature = errors.New("the signature of the snapshot is not of this key")
	ErrFile      = errors.New("a file of the snapshot is not as its index says")
)

// Index describes a snapshot.
type Index struct {
	Made    time.Time       `json:"made"`    // when the list was read
	Master  string          `json:"master"`  // identity of the daemon that made it
	Servers string          `json:"servers"` // name of the file of all servers that belongs to this index
	Files   map[string]File `json:"files"`   // by name, with slashes
}

// File is a file as it must be.
type File struct {
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// FileOf describes a file with a content.
func FileOf(content []byte) File {
	sum := sha256.Sum256(content)
	return File{len(content), hex.EncodeToString(sum[:])}
}

// Check returns ErrFile unless a content is that of the file.
func (f File) Check(content []byte) error {
	if FileOf(content) != f {
		return ErrFile
	}
	return nil
}

// Seal returns the text of an index, signed with a key.
func (i *Index) Seal(key ed25519.PrivateKey) ([]byte, error) {
	body, err := json.MarshalIndent(i, "", " ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	text := append([]byte(head), base64.StdEncoding.EncodeToString(ed25519.Sign(key, body))...)
	return append(append(text, '\n'), body...), nil
}

// Open reads the text of an index. Nothing of it is looked at before the signature is that of
// the key.
func Open(text []byte, key ed25519.PublicKey) (*Index, error) {
	line, body, ok := bytes.Cut(text, []byte("\n"))
	encoded, known := bytes.CutPrefix(line, []byte(head))
	signature, err := base64.StdEncoding.DecodeString(string(encoded))
	switch {
	case !ok || !known || err != nil || len(text) > MaxIndex:
		return nil, ErrIndex
	case !ed25519.Verify(key, body, signature):
		return nil, ErrSignature
	}
	i := new(Index)
	if json.Unmarshal(body, i) != nil || i.Made.IsZero() {
		return nil, ErrIndex
	}
	return i, nil
}
