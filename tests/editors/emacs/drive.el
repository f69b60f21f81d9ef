;;; drive.el --- what both clients' scenarios share  -*- lexical-binding: t -*-
;; Run by test_emacs.py in a batch Emacs, which has loaded the settings of docs/editors.md.  Waits are for a condition.

(require 'json)
(require 'seq)

(defvar drive-seen nil "What was seen, as an alist.")
(defconst drive-deadline 60)

(defun drive-note (key value)
  (push (cons key value) drive-seen))

(defun drive-wait (what condition)
  "Wait until the function CONDITION gives non-nil, and return that."
  (let ((end (+ (float-time) drive-deadline)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) end) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.02)
      (sit-for 0))
    value))

(defun drive-choose (title)
  "Choose what begins with TITLE wherever a person is asked."
  (fset 'completing-read
        (lambda (_prompt collection &rest _)
          (or (seq-find (lambda (name) (string-prefix-p title name)) (all-completions "" collection))
              (error "Not offered: %s" title)))))

(defun drive-text ()
  (buffer-substring-no-properties (point-min) (point-max)))

(defun drive-open ()
  "Open the file, as a person does who types on in it."
  (find-file (getenv "MODEL"))
  (undo-boundary))

(defun drive-undo ()
  (undo-boundary)
  (let ((inhibit-message t)) (undo)))

(defun drive-run (scenario)
  (condition-case err
      (funcall scenario)
    (error (drive-note 'error (format "%S\n%s" err (with-current-buffer "*Messages*" (buffer-string))))))
  (with-temp-file (getenv "RESULT") (insert (json-encode drive-seen)))
  (kill-emacs 0))

;;; drive.el ends here
