// What every component is made of: templates without a build step, and the hooks beside them.
export {
  html,
  render,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "../vendor/htm/standalone.mjs";
