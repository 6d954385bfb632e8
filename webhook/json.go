package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// delivery is the body of a request in format JSON.
type delivery struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Hook   string    `json:"hook"`
	Events []Event   `json:"events"`
}

// encode returns the body in format JSON.
func (d delivery) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // strings, numbers and times always have a JSON form
	}
	return b.Bytes()
}

// Headers of a signed request.
const (
	HeaderTimestamp = "X-Respawnd-Timestamp"
	HeaderSignature = "X-Respawnd-Signature"
)

// Sign returns the value of HeaderSignature for a body sent at a time, as
// HeaderTimestamp states it (Unix seconds).
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
