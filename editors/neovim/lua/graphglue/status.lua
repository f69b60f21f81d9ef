-- The words for a status line.  The server is asked only once somebody shows them: after what may have changed its state, and again
-- while something is under way.
local client = require("graphglue.client")
local project = require("graphglue.project")

local M = {}

local SETTLE_MS, BUSY_MS = 150, 700

---@type table<integer, table> what each client's server said of itself
local answers = {}
local is_shown, is_waiting = false, false

---@param n integer
---@param noun string
---@return string
local function counted(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

---@param buffer integer
---@return integer breaks that a run met
---@return integer those that the text alone tells
local function count(buffer)
  local met, predicted = 0, 0
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    if d.source == "graphglue" and type(d.code) == "string" and d.code:match("^GB%d%d%d%d$") then
      if d.message:find("(predicted", 1, true) then
        predicted = predicted + 1
      else
        met = met + 1
      end
    end
  end
  return met, predicted
end

---@param value any
---@return boolean JSON's null is no value
local function is_said(value)
  return value ~= nil and value ~= vim.NIL
end

---@param answer table
---@param buffer integer
---@return string
---@return boolean something is under way
local function words_of(answer, buffer)
  local worker = answer.workers and answer.workers[1] or {}
  if worker.state == "failed" then
    return is_said(worker.torch) and "worker ended" or "no torch", answer.captures > 0
  elseif worker.state == "starting" then
    return "starting torch", true
  elseif answer.verifications > 0 then
    return "proving", true
  elseif answer.captures > 0 then
    return "analyzing", true
  end
  local met, predicted = count(buffer)
  if met > 0 then
    return counted(met, "break"), false
  end
  return predicted > 0 and predicted .. " predicted" or "no breaks", false
end

local ask_soon

local function ask()
  for _, found in ipairs(client.all()) do
    if not found.is_stopped(found) then
      client.request(found, "workspace/executeCommand", { command = "graphglue.status" }, function(_, answer)
        if not answer then
          return
        end
        answers[found.id] = answer
        vim.cmd("redrawstatus!")
        local _, is_busy = words_of(answer, 0)
        if is_busy then
          ask_soon(BUSY_MS)
        end
      end)
    end
  end
end

---@param delay integer|nil
function ask_soon(delay)
  if is_waiting or not is_shown then
    return
  end
  is_waiting = true
  vim.defer_fn(function()
    is_waiting = false
    ask()
  end, delay or SETTLE_MS)
end

---@param buffer integer
---@return string
function M.words(buffer)
  local found = client.of(buffer)
  if not found then
    return ""
  end
  if not is_shown then
    is_shown = true
    ask_soon()
  end
  if not project.is_trusted(client.root_of(found)) then
    return "not trusted"
  end
  return answers[found.id] and (words_of(answers[found.id], buffer)) or "starting"
end

---@param _ table a client
---@param buffer integer
function M.attach(_, buffer)
  local group = vim.api.nvim_create_augroup("graphglue.status." .. buffer, {})
  vim.api.nvim_create_autocmd({ "DiagnosticChanged", "BufEnter", "BufWritePost" }, {
    group = group,
    buffer = buffer,
    callback = function()
      ask_soon()
    end,
  })
  ask_soon()
end

---@param id integer
function M.forget(id)
  answers[id] = nil
end

return M
