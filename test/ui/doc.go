// Package ui tests the page of plimsoll ui in headless Chromium, with made-up autoscalers: how long it takes to be
// there, that it shows what it is sent, that it can be used with the keyboard, and that it neither loads nor runs
// anything from elsewhere. With the tag ui, make test-ui runs it. It writes the pictures of docs/images, too.
package ui
