// Calls to a Switchyard: every POST under an idempotency key, repeated where repeating is safe, refused in its own words.
package provider

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	attemptsMax   = 5
	firstPause    = 100 * time.Millisecond
	longestPause  = 60 * time.Second
	callTimeout   = 60 * time.Second
	answerMax     = 64 << 20
	laterMakings  = 50
	idempotency   = "Agent-Idempotency-Key"
	replayed      = "Agent-Idempotent-Replay"
	conflictError = "idempotency_conflict"
)

// Client speaks for one configuration of the provider. What is not known yet is said when it is first needed: a key may
// come from a project that the same apply makes.
type Client struct {
	url, key, workspace, version string
	unknown                      string
	http                         *http.Client

	lock    sync.Mutex
	claimed map[string]bool // what this process made or took over, by type and id
}

// Refusal is an answer that is not 2xx.
type Refusal struct {
	Method, Path, Type, Message, RequestID string
	Status                                 int
}

func (r *Refusal) Error() string {
	where := fmt.Sprintf("%s %s answered %d", r.Method, r.Path, r.Status)
	if r.Type != "" {
		where += " " + r.Type
	}
	if r.RequestID != "" {
		where += ", x-request-id " + r.RequestID
	}
	return r.Message + "\n\n" + where
}

func hasStatus(err error, status int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Status == status
}

type answer struct {
	body map[string]any
	// An earlier process sent this, and got no answer, or could not note it.
	fromBefore bool
}

func (c *Client) get(ctx context.Context, path string) (map[string]any, error) {
	told, err := c.call(ctx, http.MethodGet, path, nil, "")
	return told.body, err
}

// change sends a change. What sets something may be sent again, and each change has a key of its own: setting 25, then 30,
// then 25 is three effects.
func (c *Client) change(ctx context.Context, method, path string, body map[string]any) (map[string]any, error) {
	told, err := c.call(ctx, method, path, body, "tf-"+randomText())
	return told.body, err
}

// once sends what makes something, under a key that follows from what is made.
func (c *Client) once(ctx context.Context, path string, body map[string]any, key string) (answer, error) {
	return c.call(ctx, http.MethodPost, path, body, key)
}

func (c *Client) call(ctx context.Context, method, path string, body map[string]any, key string) (answer, error) {
	if c.unknown != "" {
		return answer{}, errors.New(c.unknown)
	}
	var sent []byte
	if body != nil || method == http.MethodPost {
		if body == nil {
			body = map[string]any{}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		sent = text
	}
	for attempt := 1; ; attempt++ {
		told, pause, err := c.attempt(ctx, method, path, sent, key)
		if err == nil {
			told.fromBefore = told.fromBefore && attempt == 1
			return told, nil
		}
		if pause < 0 || attempt == attemptsMax {
			return answer{}, err
		}
		if err := sleep(ctx, max(pause, firstPause<<(attempt-1))); err != nil {
			return answer{}, err
		}
	}
}

// attempt sends once. A pause below 0 means that sending again would not help, or would not be safe.
func (c *Client) attempt(ctx context.Context, method, path string, sent []byte, key string) (answer, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(sent))
	if err != nil {
		return answer{}, -1, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", "terraform-provider-switchyard/"+c.version)
	if sent != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		request.Header.Set(idempotency, key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, 0, fmt.Errorf("%s %s: no answer: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return answer{}, 0, fmt.Errorf("%s %s: the answer broke off: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		refusal := refusalOf(method, path, response, text)
		return answer{}, pauseAfter(method, response, refusal), refusal
	}
	told := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&told); err != nil && len(text) > 0 {
		return answer{}, -1, fmt.Errorf("%s %s did not answer JSON: is `url` that of a Switchyard? %w", method, path, err)
	}
	return answer{body: told, fromBefore: response.Header.Get(replayed) == "true"}, 0, nil
}

func refusalOf(method, path string, response *http.Response, text []byte) *Refusal {
	var envelope struct {
		Error struct{ Message, Type string }
	}
	refusal := &Refusal{Method: method, Path: path, Status: response.StatusCode,
		RequestID: response.Header.Get("X-Request-Id")}
	if json.Unmarshal(text, &envelope) == nil && envelope.Error.Message != "" {
		refusal.Message, refusal.Type = envelope.Error.Message, envelope.Error.Type
	} else {
		refusal.Message = "No message: is `url` that of a Switchyard?"
	}
	return refusal
}

// pauseAfter says how long to wait before the same call is sent again; below 0: not at all.
func pauseAfter(method string, response *http.Response, refusal *Refusal) time.Duration {
	again := false
	switch refusal.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	case http.StatusInternalServerError:
		again = method != http.MethodPatch
	case http.StatusConflict:
		again = refusal.Type == conflictError
	}
	if !again || response.Header.Get("X-Should-Retry") == "false" {
		return -1
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestPause)
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claim notes that a resource of this state has the thing; false, where another one has it already.
func (c *Client) claim(what string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.claimed[what] {
		return false
	}
	c.claimed[what] = true
	return true
}

func (c *Client) isClaimed(what string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.claimed[what]
}

// keyFor is an idempotency key that follows from what is sent, so that the same apply, run again, sends the same. Where
// there are secrets in it, nobody without the API key can try them out on it.
func (c *Client) keyFor(secret bool, parts ...any) (string, error) {
	salt := ""
	if secret {
		salt = c.key
	}
	sum := hmac.New(sha256.New, []byte(salt))
	for _, part := range append([]any{c.workspace}, parts...) {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		sum.Write(append(text, '\n'))
	}
	return "tf-" + hex.EncodeToString(sum.Sum(nil))[:40], nil
}

func randomText() string {
	some := make([]byte, 20)
	_, _ = rand.Read(some)
	return hex.EncodeToString(some)
}

func trimURL(url string) string { return strings.TrimRight(url, "/") }
