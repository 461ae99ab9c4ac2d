package openapi

import (
	"regexp"
	"slices"
	"strings"
)

// defaultBusyStatus are the HTTP numbers of a passing failure, which networks
// of this family also write into the envelope.
var defaultBusyStatus = []int{408, 429, 500, 502, 503, 504}

// faultWords mark a Message about the request itself: signature, key, clock,
// rights, parameters. Sending the same again cannot pass, whatever the Status.
var faultWords = []string{
	"sign", "secret", "timestamp", "appkey", "app_key", "app key", "param", "invalid", "illegal",
	"unauthorized", "forbidden", "permission", "签名", "密钥", "时间戳", "参数", "权限", "非法", "无效",
}

// busyWords mark a Message that asks for patience.
var busyWords = []string{
	"busy", "try again", "too many", "timeout", "timed out", "rate limit",
	"系统繁忙", "繁忙", "频繁", "稍后", "稍候", "超时",
}

// busy decides whether a refusal may pass later. The network's list of Status
// values is not shown (specification 7), so: never when the Message speaks of
// the request itself, else when the Status is one of busyStatus or the Message
// asks for patience. Upper and lower case are the same.
func busy(status int, message string, busyStatus []int) bool {
	message = strings.ToLower(message)
	mentions := func(word string) bool { return strings.Contains(message, word) }
	if slices.ContainsFunc(faultWords, mentions) {
		return false
	}
	return slices.Contains(busyStatus, status) || slices.ContainsFunc(busyWords, mentions)
}

// digestText is what a signature looks like. Some services quote the one that
// they expected.
var digestText = regexp.MustCompile(`(?i)\b[0-9a-f]{32}\b`)

// presentable makes the network's text fit to be shown: the App Secret and
// everything that looks like a signature blotted out, control characters
// replaced, clipped.
func (c *Client) presentable(message string) string {
	message = strings.ReplaceAll(message, c.cfg.AppSecret, "[secret]")
	return clean(digestText.ReplaceAllString(message, "[signature]"))
}
