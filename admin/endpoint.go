package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
)

// Route is one route of the API.
type Route struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with {id} or {name} for the part that varies
	What   string `json:"what"` // description, with its parameters
	handle http.HandlerFunc
	of     noun.Noun // the list of routes has it only where that exists
}

// endpoint is an operation of the API. The handler of the server and the call of
// the client are made from it.
type endpoint[In, Out any] struct {
	Route
	params func(*params, *In)
	do     func(operator.Operator, context.Context, In) (Out, error)
}

func newEndpoint[In, Out any](method, path, what string, fields func(*params, *In),
	do func(operator.Operator, context.Context, In) (Out, error),
) *endpoint[In, Out] {
	return &endpoint[In, Out]{Route{Method: method, Path: "/api/v1/" + path, What: what}, fields, do}
}

// none is the input of an operation without parameters.
type none struct{}

func noParams(*params, *none) {}

// newGetter returns an endpoint of method GET without parameters.
func newGetter[Out any](path, what string, do func(operator.Operator, context.Context) (Out, error)) *endpoint[none, Out] {
	return newEndpoint(http.MethodGet, path, what, noParams,
		func(op operator.Operator, ctx context.Context, _ none) (Out, error) { return do(op, ctx) })
}

// answering makes an operation that returns only an error return out.
func answering[In, Out any](out Out, do func(operator.Operator, context.Context, In) error,
) func(operator.Operator, context.Context, In) (Out, error) {
	return func(op operator.Operator, ctx context.Context, in In) (Out, error) { return out, do(op, ctx, in) }
}

// on returns the route with its handler.
func (e *endpoint[In, Out]) on(s *Server) Route {
	r := e.Route
	r.handle = func(w http.ResponseWriter, r *http.Request) {
		in, err := readParams(r, e.params)
		var out Out
		if err == nil {
			out, err = e.do(s.opt.Operator, r.Context(), in)
		}
		s.answer(w, r, out, err)
	}
	return r
}

// call sends the request and returns the answer.
func (e *endpoint[In, Out]) call(ctx context.Context, c *client, in In) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	return e.callSlow(ctx, c, in)
}

// exec is call for an operation that returns only an error.
func (e *endpoint[In, Out]) exec(ctx context.Context, c *client, in In) error {
	_, err := e.call(ctx, c, in)
	return err
}

// callSlow is call without a timeout.
func (e *endpoint[In, Out]) callSlow(ctx context.Context, c *client, in In) (out Out, err error) {
	p := &params{query: url.Values{}}
	if e.params(p, &in); p.err != nil {
		return out, p.err
	}
	path := strings.NewReplacer("{id}", p.part, "{name}", p.part).Replace(e.Path)
	if len(p.query) > 0 {
		path += "?" + p.query.Encode()
	}
	resp, err := c.do(ctx, e.Method, path, p.body)
	if err != nil {
		return out, err
	}
	defer func() { _ = resp.Body.Close() }()
	body := io.LimitReader(resp.Body, maxAnswer)
	if list, yaml := any(&out).(*gameList); yaml {
		*list, err = games.ParseYAML(body, games.Source{})
	} else {
		err = json.NewDecoder(body).Decode(&out)
	}
	return out, err
}
