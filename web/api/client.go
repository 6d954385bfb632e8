package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Bounds of the input of a Client.
const (
	clientPage  = 2000      // servers of an answer
	clientEvent = 256 << 10 // bytes of an event
	clientList  = 64 << 20  // bytes of a list, and of a stream of events
	clientGames = 16 << 20  // bytes of the games that were played
)

// Errors of a Client.
var (
	// ErrNotModified reports that the list is the one of the given tag.
	ErrNotModified = errors.New("the list has not changed")
	// ErrReset reports that events are missing: the list has to be read again.
	ErrReset = errors.New("events are missing")

	errNotGames = errors.New("the answer is not a list of games")
	errNotList  = errors.New("the answer is not a list of servers")
	errNoEvents = errors.New("the answer is no stream of events")
	errEnds     = errors.New("the stream ended")
	errRepeats  = errors.New("the list does not end")
)

// Client reads the list of another daemon. It is used by one goroutine at a time. The
// context of each call and the http.Client bound its waits.
type Client struct {
	HTTP *http.Client
	Base string // URL of the pages, without a final slash
	Game string // whose servers are read; empty: all
	Full bool   // rules and players too
	Max  int    // servers of a list; 0: no bound
	Tag  string // of the list that was read last

	playedTag string // of the games that PlayedGames read last
}

// Remote is a server in the list of another daemon. The fields below Via are set with
// Full.
type Remote struct {
	ID      string         `json:"id"`
	Game    string         `json:"game"`
	Origin  string         `json:"origin"`
	Address netip.AddrPort `json:"address"`
	Query   string         `json:"query"` // protocol in which it is queried; empty: unknown
	Via     string         `json:"via"`   // master that the other daemon knows it from; empty: none

	Country string              `json:"country"`
	Region  string              `json:"region"`
	Rules   map[string]string   `json:"rules"`
	Players []map[string]string `json:"player_list"`
	Teams   []map[string]string `json:"team_list"`
}

// List calls each with every server of the list. master is the identity of the other
// daemon. The error is ErrNotModified if the list has the tag, and netclient.ErrTooLong
// beyond Max.
func (c *Client) List(ctx context.Context, each func(*Remote)) (master string, err error) {
	tag, cursor, read, left := "", "", 0, int64(clientList)
	for {
		p, err := c.page(ctx, cursor, &tag, &left, func(s *Remote) error {
			if read++; c.Max > 0 && read > c.Max {
				return netclient.ErrTooLong
			}
			each(s)
			return nil
		})
		switch {
		case err != nil:
			return p.Master, err
		case p.Next == "":
			c.Tag = tag
			return p.Master, nil
		case p.Next == cursor || p.Count == 0:
			return p.Master, errRepeats
		}
		cursor = p.Next
	}
}

// page is an answer without its servers.
type page struct {
	Master string
	Count  int
	Next   string
}

// page reads the answer behind a cursor.
func (c *Client) page(ctx context.Context, cursor string, tag *string, left *int64, each func(*Remote) error) (p page, err error) {
	q := url.Values{"limit": {strconv.Itoa(clientPage)}}
	if c.Full {
		q.Set("full", "1")
	} else {
		q.Set("fields", "id,game,origin,address,query,via")
	}
	if c.Game != "" {
		q.Set("game", c.Game)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	resp, err := c.get(ctx, "/api/v1/servers?"+q.Encode(), func(h http.Header) {
		if cursor == "" && c.Tag != "" {
			h.Set("If-None-Match", c.Tag)
		}
	})
	if err != nil {
		return p, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotModified && cursor == "" && c.Tag != "":
		return p, ErrNotModified
	case resp.StatusCode != http.StatusOK:
		return p, statusError(resp)
	}
	if cursor == "" {
		*tag = resp.Header.Get("ETag")
	}
	body := &io.LimitedReader{R: resp.Body, N: *left}
	if p, err = readPage(body, each); err != nil && body.N <= 0 {
		err = netclient.ErrTooLong
	}
	*left = body.N
	return p, err
}

func (c *Client) get(ctx context.Context, path string, set func(http.Header)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	set(req.Header)
	resp, err := c.HTTP.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return resp, err
}

func statusError(resp *http.Response) error {
	return fmt.Errorf("answered %s", clean.Line(resp.Status, 60))
}

// PlayedGame is what another daemon says of a game that was played there.
type PlayedGame struct {
	Name     string       `json:"name"`
	Played   PlayedThere  `json:"played"`
	Editions []PlayedCopy `json:"editions"`
}

// PlayedCopy is a PlayedGame of some copies.
type PlayedCopy struct {
	Copies []string    `json:"copies"`
	Played PlayedThere `json:"played"`
}

// PlayedThere is how often a game was played. Times 0: it was not.
type PlayedThere struct {
	Times   int    `json:"times"`
	Last    string `json:"last"`
	Version string `json:"version"`
}

// PlayedGames calls each with every game that was played at the other daemon. The error is
// ErrNotModified if they are as they were at the last call.
func (c *Client) PlayedGames(ctx context.Context, each func(*PlayedGame)) error {
	resp, err := c.get(ctx, "/api/v1/games?state="+string(games.Played), func(h http.Header) {
		if c.playedTag != "" {
			h.Set("If-None-Match", c.playedTag)
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotModified && c.playedTag != "":
		return ErrNotModified
	case resp.StatusCode != http.StatusOK:
		return statusError(resp)
	}
	d := json.NewDecoder(io.LimitReader(resp.Body, clientGames))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNotGames
	}
	for d.More() {
		var g PlayedGame
		if err := d.Decode(&g); err != nil {
			return errNotGames
		}
		each(&g)
	}
	if _, err := d.Token(); err != nil {
		return errNotGames
	}
	c.playedTag = resp.Header.Get("ETag")
	return nil
}

// ReadList calls each with every server of a whole list in one text.
func ReadList(r io.Reader, each func(*Remote) error) error {
	_, err := readPage(r, each)
	return err
}

// readPage parses an answer server by server, so that a long one takes little memory.
func readPage(r io.Reader, each func(*Remote) error) (p page, err error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p, errNotList
	}
	listed := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return p, errNotList
		}
		switch key {
		case "master":
			err = d.Decode(&p.Master)
		case "next":
			err = d.Decode(&p.Next)
		case "servers":
			listed = true
			err = p.servers(d, each)
		default:
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return p, listError(err)
		}
	}
	if _, err := d.Token(); err != nil || !listed {
		return p, errNotList
	}
	return p, nil
}

// listError returns errNotList for errors of JSON.
func listError(err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || kind || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNotList
	}
	return err
}

// servers parses the array of servers. One whose address cannot be read is passed over.
func (p *page) servers(d *json.Decoder, each func(*Remote) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNotList
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		p.Count++
		var s Remote
		if json.Unmarshal(raw, &s) != nil {
			s = Remote{}
		}
		if err := each(&s); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// The kinds of a RemoteEvent.
const (
	EventAdded   = "added"
	EventChanged = "changed"
	EventRemoved = "removed"
	eventReset   = "reset"
)

// RemoteEvent is a change of the list of another daemon. Of a removed server only id,
// address and game are known.
type RemoteEvent struct {
	Kind   string
	Server Remote
}

// Events calls each with every change of the list from now on, until ctx ends or there is
// an error, such as ErrReset.
func (c *Client) Events(ctx context.Context, each func(*RemoteEvent)) error {
	path := "/api/v1/events"
	if c.Game != "" {
		path += "?game=" + url.QueryEscape(c.Game)
	}
	resp, err := c.get(ctx, path, func(h http.Header) { h.Set("Accept", "text/event-stream") })
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); {
	case resp.StatusCode != http.StatusOK:
		return statusError(resp)
	case kind != "text/event-stream":
		return errNoEvents
	}
	return readEvents(io.LimitReader(resp.Body, clientList), each)
}

func readEvents(r io.Reader, each func(*RemoteEvent)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), clientEvent)
	var kind string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = string(value)
		case "data":
			if len(data)+len(value) > clientEvent {
				return bufio.ErrTooLong
			}
			data = append(data, value...)
		case "":
			if len(line) > 0 {
				continue // a comment
			}
			if err := tellEvent(kind, data, each); err != nil {
				return err
			}
			kind, data = "", data[:0]
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // compressed streams have no trailer
		return err
	}
	return errEnds
}

// tellEvent parses the data of an event. Those of other kinds are passed over.
func tellEvent(kind string, data []byte, each func(*RemoteEvent)) error {
	e := RemoteEvent{Kind: kind}
	switch kind {
	case eventReset:
		return ErrReset
	case EventRemoved:
		var gone struct {
			ID      string         `json:"id"`
			Game    string         `json:"game"`
			Address netip.AddrPort `json:"address"`
		}
		if err := json.Unmarshal(data, &gone); err != nil {
			return errNoEvents
		}
		e.Server = Remote{ID: gone.ID, Game: gone.Game, Address: gone.Address}
	case EventAdded, EventChanged:
		if err := json.Unmarshal(data, &e.Server); err != nil {
			return errNoEvents
		}
	default:
		return nil
	}
	each(&e)
	return nil
}
